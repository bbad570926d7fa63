#!/bin/sh
# Install the servers and the browser the tests use, where they are missing. Tests can also be pointed at
# others with TEST_POSTGRES_URL, TEST_REDIS_URL and TEST_CHROMIUM.
set -eu

missing=""
[ -n "${TEST_POSTGRES_URL:-}" ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
  || command -v initdb >/dev/null || missing="$missing postgresql"
[ -n "${TEST_REDIS_URL:-}" ] || command -v redis-server >/dev/null \
  || command -v valkey-server >/dev/null || missing="$missing redis-server"
[ -n "${TEST_CHROMIUM:-}" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
  || command -v google-chrome >/dev/null || missing="$missing chromium fonts-dejavu-core"
command -v openssl >/dev/null || missing="$missing openssl"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "Missing for the tests:$missing. As root on Debian: apt-get install$missing" >&2
  echo "Or name your own in TEST_POSTGRES_URL, TEST_REDIS_URL and TEST_CHROMIUM." >&2
  [ "${CI:-}" != true ]
  exit
fi

# The packages bring servers; keep Debian from creating a cluster and from starting anything.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] \
  || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
apt-get -q update
# shellcheck disable=SC2086 # a list of package names
apt-get -qy -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install --no-install-recommends $missing
