#!/bin/sh
# Make the virtual environment and let pip bring the pinned uv, which installs everything else.
#   sh scripts/venv.sh PYTHON VENV
set -eu
python=$1
venv=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Reedbed needs Python 3.11 or newer, and '$python' is not that. Name another with 'make PYTHON=python3.12'." >&2
  exit 1
fi
if [ ! -x "$venv/bin/pip" ] && ! "$python" -m venv "$venv"; then
  rm -rf "$venv"
  echo "'$python -m venv' failed. On Debian and Ubuntu: apt-get install python3-venv" >&2
  exit 1
fi
exec "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
