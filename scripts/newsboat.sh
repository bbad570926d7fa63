#!/bin/sh
# Unpack a newsboat that knows FreshRSS below the folder given, with the libraries it needs, beside whatever
# the system has: Debian 12's own is from before that. `bin/newsboat` there starts it.
set -eu

root=$1
suite=trixie
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# From where this system takes its own packages.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | head -n 1)
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
: >"$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
apart() {
  apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Debug::NoLocking=1 "$@"
}
apart update
apart -y install --download-only --no-install-recommends newsboat

mkdir -p "$root/files" "$root/bin"
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$root/files"
done
# libstfl lies one folder higher than all others.
libraries=$root/files/usr/lib/$(uname -m)-linux-gnu
cat >"$root/bin/newsboat" <<END
#!/bin/sh
exec "$libraries/$(basename "$(echo "$libraries"/ld-linux-*.so.*)")" --library-path "$libraries:$root/files/usr/lib" \\
  "$root/files/usr/bin/newsboat" "\$@"
END
chmod +x "$root/bin/newsboat"
"$root/bin/newsboat" --version >/dev/null
