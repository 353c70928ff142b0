#!/usr/bin/env bash
# Shows that a fresh Debian 12 is enough: makes one with debootstrap, puts the committed state
# of this tree (HEAD) into it and runs ./run and ./test there. Called by ./test --bare, as root.
#
# The new root lives in a directory of its own, in mount and process namespaces of its own:
# when this ends nothing stays mounted or running. The bare system (without any of our
# packages) is kept as an archive for a month in ${XDG_CACHE_HOME:-~/.cache}/patchbay-bare.
# From this machine it takes only how to reach the network: name servers, package sources,
# proxies, the bundle of certificates, the npm registry. No credentials.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
top=$PWD
suite=bookworm

if ((EUID != 0)); then
  echo "--bare needs root: debootstrap and chroot do"
  exit 1
fi

work=$(mktemp -d "${PATCHBAY_BARE_DIR:-/var/tmp}/patchbay-bare.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf '== %s\n' "$*"; }

# ---- a bare system ---------------------------------------------------------------------

cache=${XDG_CACHE_HOME:-$HOME/.cache}/patchbay-bare
archive=$cache/$suite-$(dpkg --print-architecture).tar
mkdir -p "$root" "$cache"
if [[ -n $(find "$archive" -mtime -30 2> /dev/null) ]]; then
  say "unpacking $archive"
  tar -xpf "$archive" -C "$root" --numeric-owner
else
  say "debootstrap $suite"
  debootstrap --variant=minbase "$suite" "$root" "${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian}" > "$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log"; exit 1; }
  tar -cf "$archive.new" -C "$root" --numeric-owner .
  mv "$archive.new" "$archive"
fi

# ---- the way to the network ------------------------------------------------------------

cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cat > "$root/etc/apt/sources.list" << EOF
deb ${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian} $suite main
deb ${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian} $suite-updates main
deb ${PATCHBAY_BARE_SECURITY:-http://deb.debian.org/debian-security} $suite-security main
EOF
{
  apt-config dump Acquire::http::Proxy
  apt-config dump Acquire::https::Proxy
  apt-config dump Acquire::Check-Valid-Until
} > "$root/etc/apt/apt.conf.d/99patchbay-bare"
inside=(env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY CI; do
  if [[ -n ${!name:-} ]]; then inside+=("$name=${!name}"); fi
done
bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [[ -f $bundle ]]; then
  # Under a name of its own: installing ca-certificates writes its own bundle.
  mkdir -p "$root/etc/ssl"
  cp -L "$bundle" "$root/etc/ssl/patchbay-bare.crt"
  inside+=(SSL_CERT_FILE=/etc/ssl/patchbay-bare.crt NODE_EXTRA_CA_CERTS=/etc/ssl/patchbay-bare.crt
    npm_config_cafile=/etc/ssl/patchbay-bare.crt)
fi
if command -v npm > /dev/null; then
  registry=$(npm config get registry 2> /dev/null || true)
  if [[ $registry == http* && $registry != *@* ]]; then inside+=("npm_config_registry=$registry"); fi
fi

mkdir -p "$root/src/patchbay"
git -C "$top" archive HEAD | tar -x -C "$root/src/patchbay"

# ---- what runs inside --------------------------------------------------------------------

cat > "$root/src/inside.sh" << 'EOF'
set -u
cd /src/patchbay
failed=0
step() {  # step NAME EXPECTED COMMAND...
  local name=$1 expected=$2 began=$EPOCHREALTIME status
  shift 2
  printf '== %s\n' "$name"
  "$@"
  status=$?
  awk -v n="$name" -v a="$began" -v b="$EPOCHREALTIME" -v s="$status" \
    'BEGIN { printf "== %s: exit %d after %.1f s\n", n, s, b - a }'
  if ((status != expected)); then
    printf '== %s FAILED: expected exit %d\n' "$name" "$expected"
    failed=1
  fi
}
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
says_what_to_type() {
  local said
  said=$(as_nobody ./run --version 2>&1)
  local status=$?
  printf '%s\n' "$said"
  grep -q 'sudo apt-get install .*clang-19' <<< "$said" || status=99
  return "$status"
}
step 'run without root, nothing installed' 2 says_what_to_type
step 'run --version, first time' 0 ./run --version
step 'run --version, again' 0 ./run --version
step 'run' 0 ./run
step 'run tools --json' 0 ./run tools --json
step 'test' 0 ./test
exit $failed
EOF

say "running ./run and ./test inside"
# The process namespace takes every process down with it, the mount namespace every mount.
export root
unshare --mount --pid --fork --kill-child --propagation private bash -c '
  set -e
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys" -o ro
  mount -t tmpfs tmpfs "$root/dev" -o mode=755,size=64m
  for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
  mkdir "$root/dev/shm" "$root/dev/pts"
  mount -t tmpfs tmpfs "$root/dev/shm" -o mode=1777
  mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666,mode=620
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  ln -s /proc/self/fd/0 "$root/dev/stdin"
  ln -s /proc/self/fd/1 "$root/dev/stdout"
  ln -s /proc/self/fd/2 "$root/dev/stderr"
  exec chroot "$root" "$@"
' bare "${inside[@]}" bash /src/inside.sh
