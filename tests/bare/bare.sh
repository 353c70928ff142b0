#!/usr/bin/env bash
# bare.sh PART...: shows that a fresh Debian is enough. Makes one with debootstrap, puts the
# committed state of this tree (HEAD) into it and runs ./run and ./test there. A part runs in
# Debian 12; with 13 behind its name, as in root13, in Debian 13:
#
#   root       as root, with nothing installed: ./run without root says what to type, then everything
#   container  the same as an ordinary container would: tests/bare/ordinary.c says what it refuses;
#              / is no mount point, and there is no IPv6
#   user       as an ordinary user, where the packages are installed already
#   packages   in another one: installs the Debian packages that `root` made with apt, and builds
#              the examples as a stranger does; PATCHBAY_BARE_PACKAGES=DIR takes them from there
#
# Called by ./test --bare, as root. Each part has a root of its own, in a directory of its own, in
# mount and process namespaces of its own: when this ends nothing stays mounted or running.
#
# Kept in ${XDG_CACHE_HOME:-~/.cache}/patchbay-bare: the bare systems, and those with our packages
# installed, for a month each; and what the compiler made, for the parts that do not begin from
# nothing (with PATCHBAY_BARE_COMPILED=1 also for root, which then takes half as long).
# From this machine comes only how to reach the network: name servers, package sources,
# proxies, the bundle of certificates, the npm registry. It is written into the files that apt and
# npm read; of variables the programs inside see HOME, PATH, LANG and TERM. No credentials.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
top=$PWD
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

for part in "$@"; do
  case ${part%13} in
    root | container | user | packages) ;;
    *)
      echo "--bare has no part $part; there are root, container, user and packages, for Debian 13 with 13 behind the name"
      exit 2
      ;;
  esac
done
if ((EUID != 0)); then
  echo "--bare needs root: debootstrap and chroot do"
  exit 1
fi

work=$(mktemp -d "${PATCHBAY_BARE_DIR:-/var/tmp}/patchbay-bare.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf '== %s\n' "$*"; }

# ---- a bare system ---------------------------------------------------------------------

cache=${XDG_CACHE_HOME:-$HOME/.cache}/patchbay-bare
# choose_release PART: which Debian everything below is about; makes a bare one unless there is one.
choose_release() {
  case $1 in
    *13) suite=trixie from=build/bare-packages-13 ;;
    *) suite=bookworm from=build/bare-packages ;;
  esac
  archive=$cache/$suite-$(dpkg --print-architecture).tar
  prepared=$cache/$suite-$(dpkg --print-architecture)-prepared.tar
  if [[ -n $(find "$archive" -mtime -30 2> /dev/null) ]]; then return 0; fi
  say "debootstrap $suite"
  # A debootstrap older than a release has no script for it; they are all the same one.
  local script=()
  if [[ ! -e /usr/share/debootstrap/scripts/$suite ]]; then script=(/usr/share/debootstrap/scripts/sid); fi
  debootstrap --variant=minbase "$suite" "$work/new" "${PATCHBAY_BARE_MIRROR:-http://deb.debian.org/debian}" "${script[@]}" \
    > "$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log"; exit 1; }
  tar -cf "$archive.new" -C "$work/new" --numeric-owner .
  mv "$archive.new" "$archive"
  rm -rf --one-file-system "$work/new"
}

# ---- the way to the network ------------------------------------------------------------

bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
# What npm is told: a line each. Under a name of its own the bundle, because installing
# ca-certificates writes its own.
npm_settings() {
  if [[ -f $bundle ]]; then echo cafile=/etc/ssl/patchbay-bare.crt; fi
  local registry proxy=${https_proxy:-${HTTPS_PROXY:-}} plain=${http_proxy:-${HTTP_PROXY:-}} none=${no_proxy:-${NO_PROXY:-}}
  if [[ -n $proxy ]]; then echo "https-proxy=$proxy"; fi
  if [[ -n $plain ]]; then echo "proxy=$plain"; fi
  if [[ -n $none ]]; then echo "noproxy=$none"; fi
  if command -v npm > /dev/null; then
    registry=$(npm config get registry 2> /dev/null || true)
    if [[ $registry == http* && $registry != *@* ]]; then echo "registry=$registry"; fi
  fi
}

# make_root DIR [ARCHIVE]: a system that reaches the network, a bare one unless told.
make_root() {
  say "unpacking ${2:-$archive}"
  mkdir -p "$1"
  tar -xpf "${2:-$archive}" -C "$1" --numeric-owner
  npm_settings > "$1/root/.npmrc"
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
    # What only variables say here.
    if [[ -n ${http_proxy:-${HTTP_PROXY:-}} ]]; then echo "Acquire::http::Proxy \"${http_proxy:-$HTTP_PROXY}\";"; fi
    if [[ -n ${https_proxy:-${HTTPS_PROXY:-}} ]]; then echo "Acquire::https::Proxy \"${https_proxy:-$HTTPS_PROXY}\";"; fi
  } > "$1/etc/apt/apt.conf.d/99patchbay-bare"
  if [[ -f $bundle ]]; then
    mkdir -p "$1/etc/ssl"
    cp -L "$bundle" "$1/etc/ssl/patchbay-bare.crt"
  fi
}

# enter ROOT [PREFIX...] -- SCRIPT: runs it in there, behind the prefix, and returns its exit code.
# With as_container=1, / stays what a container made by chroot has: no mount point.
# With compiled=1 what the compiler made is kept outside.
enter() {
  local root=$1 prefix=()
  shift
  while [[ $1 != -- ]]; do prefix+=("$1") && shift; done
  # The process namespace takes every process down with it, the mount namespace every mount.
  root=$root as_container=${as_container:-} compiled=${compiled:+$cache/ccache} \
    unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    # A mount of its own: what unshares mounts inside asks for one at /.
    if [[ -z $as_container ]]; then mount --bind "$root" "$root"; fi
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
    if [[ -n $compiled ]]; then
      mkdir -p "$root/var/cache/ccache"
      mount --bind "$compiled" "$root/var/cache/ccache"
      printf "cache_dir = /var/cache/ccache\numask = 000\n" > "$root/etc/ccache.conf"
    fi
    if [[ -n $as_container ]]; then exec chroot "$root" "$@"; fi
    # Not chroot: who is in one gets no user namespace, and an ordinary machine gives them.
    cd "$root"
    mkdir -p .outside
    pivot_root . .outside
    umount -l .outside
    exec chroot . "$@"
  ' bare "${prefix[@]}" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb bash "$2"
}

# ---- what runs inside --------------------------------------------------------------------

# put_sources ROOT: the committed state, and what the scripts inside share.
put_sources() {
  mkdir -p "$1/src/patchbay"
  git -C "$top" archive HEAD | tar -x -C "$1/src/patchbay"
  cat > "$1/src/steps.sh" << 'EOF'
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
# ./test, whose closing line has to say that some tests were skipped where something is lacking.
tests_skip() {  # tests_skip some|any
  ./test 2> >(tee /src/test.err >&2) | tee /src/test.out
  local status=${PIPESTATUS[0]} last
  last=$(tail -n 1 /src/test.out)
  [[ $last =~ ^[0-9]+\ passed,\ 0\ failed,\ ([0-9]+)\ skipped$ ]] || return "$((status ? status : 98))"
  if [[ $1 == some && ${BASH_REMATCH[1]} == 0 ]]; then return 97; fi
  return "$status"
}
EOF
}

# A system where everything that ./test needs is installed, node and npm with it.
prepare() {
  local key
  key=$(cksum < scripts/packages.sh)
  if [[ -f $prepared.key && $(< "$prepared.key") == "$key" && -n $(find "$prepared" -mtime -30 2> /dev/null) ]]; then return 0; fi
  say "installing the packages of ./test"
  make_root "$work/prepared"
  # The names are those of the system inside.
  cp scripts/packages.sh "$work/prepared/packages.sh"
  cat > "$work/prepared/install.sh" << 'EOF'
. /packages.sh
export DEBIAN_FRONTEND=noninteractive
apt-get update && apt-get install -y --no-install-recommends "${packages_run[@]}" "${packages_test[@]}" nodejs npm && apt-get clean
EOF
  enter "$work/prepared" -- /install.sh > "$work/prepare.log" 2>&1 || { tail -n 20 "$work/prepare.log"; return 1; }
  # How the network is reached is written anew each time.
  rm -f "$work/prepared"/{install.sh,packages.sh,root/.npmrc,etc/apt/apt.conf.d/99patchbay-bare,etc/ssl/patchbay-bare.crt}
  tar -cf "$prepared.new" -C "$work/prepared" --numeric-owner .
  mv "$prepared.new" "$prepared"
  printf '%s' "$key" > "$prepared.key"
  rm -rf --one-file-system "$work/prepared"
}

part_root() {
  local root=$work/root status=0
  make_root "$root"
  put_sources "$root"
  cat > "$root/src/inside.sh" << 'EOF'
. /src/steps.sh
step 'run without root, nothing installed' 2 says_what_to_type
step 'run --version, first time' 0 ./run --version
step 'run --version, again' 0 ./run --version
step 'run' 0 ./run
step 'run tools --json' 0 ./run tools --json
step 'test' 0 tests_skip any
exit $failed
EOF
  compiled=${PATCHBAY_BARE_COMPILED:-} enter "$root" -- /src/inside.sh || status=$?
  rm -rf "$from"
  mkdir -p "$from"
  cp "$root"/src/patchbay/build/release/*.deb "$from/" || status=1
  rm -rf --one-file-system "$root"
  return "$status"
}

part_container() {
  local root=$work/container status=0
  tests/bare/ordinary true
  make_root "$root"
  put_sources "$root"
  cp build/ordinary "$root/src/ordinary"
  cat > "$root/src/inside.sh" << 'EOF'
. /src/steps.sh
step 'run --version, first time' 0 ./run --version
step 'run tools --json' 0 ./run tools --json
step 'test' 0 tests_skip some
exit $failed
EOF
  as_container=1 compiled=1 enter "$root" /src/ordinary --no-ipv6 -- /src/inside.sh || status=$?
  rm -rf --one-file-system "$root"
  return "$status"
}

part_user() {
  local root=$work/user status=0
  prepare || return 1
  make_root "$root" "$prepared"
  put_sources "$root"
  cat > "$root/src/inside.sh" << 'EOF'
useradd --create-home --shell /bin/bash tester
cp /root/.npmrc /home/tester/.npmrc
chown -R tester: /src /home/tester
exec setpriv --reuid=tester --regid=tester --init-groups env -i HOME=/home/tester LANG=C.UTF-8 TERM=dumb \
  PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games bash /src/as_user.sh
EOF
  cat > "$root/src/as_user.sh" << 'EOF'
. /src/steps.sh
step 'run --version, first time' 0 ./run --version
step 'run tools --json' 0 ./run tools --json
step 'test' 0 tests_skip any
exit $failed
EOF
  compiled=1 enter "$root" -- /src/inside.sh || status=$?
  rm -rf --one-file-system "$root"
  return "$status"
}

part_packages() {
  local from=${PATCHBAY_BARE_PACKAGES:-$top/$from} root=$work/stranger
  if ! compgen -G "$from/*.deb" > /dev/null; then
    echo "there are no packages in $from: the part root makes them"
    return 1
  fi
  make_root "$root"
  mkdir "$root/packages"
  cp "$from"/*.deb "$root/packages/"
  cp tests/bare/stranger.sh "$root/stranger.sh"
  enter "$root" -- /stranger.sh
}

mkdir -p "$cache/ccache"
chmod 777 "$cache/ccache"
for part in "$@"; do
  say "$part"
  choose_release "$part"
  "part_${part%13}"
done
