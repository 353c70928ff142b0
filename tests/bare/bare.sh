#!/usr/bin/env bash
# Shows that a fresh Debian 12 is enough: makes one with debootstrap, puts the committed state
# of this tree (HEAD) into it and runs ./run and ./test there. The Debian packages that this
# made are then installed with apt in a second one, where a stranger builds the examples.
# Called by ./test --bare, as root. PATCHBAY_BARE_PACKAGES=DIR skips the first part and takes
# the packages from there.
#
# The new roots live in a directory of their own, in mount and process namespaces of their own:
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
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf '== %s\n' "$*"; }

# ---- a bare system ---------------------------------------------------------------------

cache=${XDG_CACHE_HOME:-$HOME/.cache}/patchbay-bare
archive=$cache/$suite-$(dpkg --print-architecture).tar
mkdir -p "$cache"
if [[ -z $(find "$archive" -mtime -30 2> /dev/null) ]]; then
  say "debootstrap $suite"
  debootstrap --variant=minbase "$suite" "$work/new" "${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian}" > "$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log"; exit 1; }
  tar -cf "$archive.new" -C "$work/new" --numeric-owner .
  mv "$archive.new" "$archive"
  rm -rf --one-file-system "$work/new"
fi

# ---- the way to the network ------------------------------------------------------------

inside=(env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY CI; do
  if [[ -n ${!name:-} ]]; then inside+=("$name=${!name}"); fi
done
bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [[ -f $bundle ]]; then
  # Under a name of its own: installing ca-certificates writes its own bundle.
  inside+=(SSL_CERT_FILE=/etc/ssl/patchbay-bare.crt NODE_EXTRA_CA_CERTS=/etc/ssl/patchbay-bare.crt
    npm_config_cafile=/etc/ssl/patchbay-bare.crt)
fi
if command -v npm > /dev/null; then
  registry=$(npm config get registry 2> /dev/null || true)
  if [[ $registry == http* && $registry != *@* ]]; then inside+=("npm_config_registry=$registry"); fi
fi

# make_root DIR: a bare system that reaches the network.
make_root() {
  say "unpacking $archive"
  mkdir -p "$1"
  tar -xpf "$archive" -C "$1" --numeric-owner
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
  cat > "$1/etc/apt/sources.list" << EOF
deb ${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian} $suite main
deb ${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian} $suite-updates main
deb ${PATCHBAY_BARE_SECURITY:-http://deb.debian.org/debian-security} $suite-security main
EOF
  {
    apt-config dump Acquire::http::Proxy
    apt-config dump Acquire::https::Proxy
    apt-config dump Acquire::Check-Valid-Until
  } > "$1/etc/apt/apt.conf.d/99patchbay-bare"
  if [[ -f $bundle ]]; then
    mkdir -p "$1/etc/ssl"
    cp -L "$bundle" "$1/etc/ssl/patchbay-bare.crt"
  fi
}

# enter ROOT SCRIPT: runs it in there and returns its exit code.
enter() {
  # The process namespace takes every process down with it, the mount namespace every mount.
  root=$1 unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    # A mount of its own: what unshares mounts inside asks for one at /.
    mount --bind "$root" "$root"
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
  ' bare "${inside[@]}" bash "$2"
}

# ---- what runs inside --------------------------------------------------------------------

if [[ -z ${PATCHBAY_BARE_PACKAGES:-} ]]; then
  root=$work/root
  make_root "$root"
  mkdir -p "$root/src/patchbay"
  git -C "$top" archive HEAD | tar -x -C "$root/src/patchbay"
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
  status=0
  enter "$root" /src/inside.sh || status=$?
  mkdir "$work/packages"
  cp "$root"/src/patchbay/build/release/*.deb "$work/packages/" || exit 1
  rm -rf --one-file-system "$root"
  ((status == 0)) || exit "$status"
  PATCHBAY_BARE_PACKAGES=$work/packages
fi

say "installing the packages in another bare system"
make_root "$work/stranger"
mkdir "$work/stranger/packages"
cp "$PATCHBAY_BARE_PACKAGES"/*.deb "$work/stranger/packages/"
cp "$top/tests/bare/stranger.sh" "$work/stranger/stranger.sh"
enter "$work/stranger" /stranger.sh
