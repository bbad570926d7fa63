#!/bin/sh
# Install the servers, the browser and the reader app the tests use, where they are missing. Tests can also be
# pointed at others with TEST_POSTGRES_URL, TEST_REDIS_URL, TEST_CHROMIUM and TEST_NEWSBOAT.
set -eu

missing=""
[ -n "${TEST_POSTGRES_URL:-}" ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
  || command -v initdb >/dev/null || missing="$missing postgresql"
[ -n "${TEST_REDIS_URL:-}" ] || command -v redis-server >/dev/null \
  || command -v valkey-server >/dev/null || missing="$missing redis-server"
[ -n "${TEST_CHROMIUM:-}" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
  || command -v google-chrome >/dev/null || missing="$missing chromium fonts-dejavu-core"
command -v openssl >/dev/null || missing="$missing openssl"
command -v dovecot >/dev/null || [ -x /usr/sbin/dovecot ] || missing="$missing dovecot-imapd"
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v espeak-ng >/dev/null || missing="$missing espeak-ng"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
# newsboat knows FreshRSS since 2.24; Debian 12 has an older one, so there it is unpacked apart.
knows_freshrss() {
  command -v "$1" >/dev/null && "$1" --version | sed -n '1s/[^0-9]*2\.\([0-9]*\).*/\1/p' | grep -qE '^(2[4-9]|[3-9][0-9])$'
}
newsboat=$PWD/.venv/newsboat
apart=""
[ -n "${TEST_NEWSBOAT:-}" ] || knows_freshrss newsboat || knows_freshrss "$newsboat/bin/newsboat" || apart=newsboat
[ -n "$missing$apart" ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "Missing for the tests:$missing $apart. As root on Debian: apt-get install$missing $apart" >&2
  echo "Or name your own in TEST_POSTGRES_URL, TEST_REDIS_URL, TEST_CHROMIUM and TEST_NEWSBOAT." >&2
  [ "${CI:-}" != true ]
  exit
fi

# The packages bring servers; keep Debian from creating a cluster and from starting anything.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] \
  || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
apt-get -q update
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086 # a list of package names
  apt-get -qy -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install --no-install-recommends $missing
fi
[ -z "$apart" ] || "$(dirname "$0")/newsboat.sh" "$newsboat"
