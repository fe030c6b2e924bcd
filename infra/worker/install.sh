#!/bin/sh
# install.sh FOLDER: an environment in FOLDER that runs the worker, with the template that it reads. The steps of the Dockerfile
# beside it; a test takes them without a container. PYTHON names the interpreter.
set -eu
folder=$1
cd "$(dirname "$0")/../.."

"${PYTHON:-python3}" -m venv "$folder"
# By hash, as wheels: nothing is compiled and nothing else is asked for.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --require-hashes --requirement infra/locks/worker.txt
packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cp -R shared/siftline functions "$packages"
"$folder/bin/python" -m compileall -q "$packages/siftline" "$packages/functions"
cp template.yaml "$folder"
"$folder/bin/python" -m pip uninstall --quiet --yes pip
