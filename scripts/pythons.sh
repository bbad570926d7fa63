#!/bin/sh
# Find a Python that can make a virtual environment for Reedbed: 3.11 or newer, with venv, pip, SQLite and TLS.
#   sh scripts/pythons.sh first PYTHON…    the first of these that is fit
#   sh scripts/pythons.sh newest           the newest of this machine: on the path, or one of pyenv's
# Prints its path, or nothing. Each is tried, since a command on the path may be a pyenv shim without a version.
set -eu
FIT='
import ensurepip, sqlite3, ssl, sys, venv
if sys.version_info >= (3, 11) and sys.version_info.releaselevel == "final":
    print("%03d.%03d.%03d %s" % (*sys.version_info[:3], sys.executable))
'

fit() {
  "$1" -c "$FIT" 2>/dev/null || true
}

case $1 in
first)
  shift
  for python in "$@"; do
    found=$(fit "$python")
    [ -z "$found" ] || { echo "${found#* }"; exit; }
  done
  ;;
newest)
  pyenv=${PYENV_ROOT:-$HOME/.pyenv}
  for python in /usr/bin/python3 python3 python3.11 python3.12 python3.13 python3.14 "$pyenv"/versions/*/bin/python3; do
    fit "$python"
  done | sort -u | tail -n 1 | cut -d ' ' -f 2-
  ;;
esac
