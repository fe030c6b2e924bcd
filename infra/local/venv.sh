#!/usr/bin/env bash
# venv.sh PYTHON FOLDER LOCK: a virtual environment that holds what the lock names, by hash. One clear line on failure.
set -eu
python=${1:-python3} folder=$2 lock=$3

fail() { printf 'siftline: %s\n' "$1" >&2; exit 1; }

command -v "$python" >/dev/null || fail "$python is not installed; Siftline needs Python 3.11 or newer (make PYTHON=/path/to/python3.11 …)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || fail "$python is $("$python" -V 2>&1); Siftline needs Python 3.11 or newer (make PYTHON=/path/to/python3.11 …)"
# One at a time in a folder: another make, or another target of this one, may want the same.
mkdir -p .local
exec 9>".local/$(basename "$folder").making"
flock 9
printf 'siftline: installing %s into %s (the first time takes a minute or two)\n' "$lock" "$folder"
if [ ! -x "$folder/bin/python" ] || ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$folder"
  "$python" -m venv "$folder" >/dev/null 2>&1 || { rm -rf "$folder"; fail "$python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv"; }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$lock" >"$log" 2>&1; then
  grep -v '^WARNING: Location' "$log" | tail -n 5 >&2
  fail "could not install $lock: is the package index reachable? Nothing was lost; run the same command again."
fi
