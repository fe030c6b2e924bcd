#!/bin/sh
# Debian's packages that tests use, where they are missing: a browser for those of pages, PgBouncer for those of pools.
set -eu
missing=
has() { for name in "$@"; do if command -v "$name" >/dev/null 2>&1; then return 0; fi; done; return 1; }
PATH=$PATH:/usr/sbin
has chromium chromium-browser google-chrome || missing="chromium fonts-dejavu-core"
has pgbouncer || missing="$missing pgbouncer"
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "siftline: some tests are skipped; on Debian and Ubuntu: apt-get install" $missing >&2
  exit 0
fi
echo "Installing for the tests:" $missing
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $missing >/dev/null
