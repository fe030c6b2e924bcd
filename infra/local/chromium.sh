#!/bin/sh
# A browser for the tests that look at pages: the one that is there, else Debian's, for a wheel of it does not exist.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "siftline: there is no Chromium; on Debian and Ubuntu: apt-get install chromium. Tests of pages are skipped." >&2
  exit 0
fi
echo "Installing Chromium for the tests of pages …"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
