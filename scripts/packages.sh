# shellcheck shell=bash
# What Patchbay needs from the system, and how to get it. Sourced by ./run and ./test,
# which stand in the top directory of the source tree.
#
# ensure_packages NAME LIST... installs what is missing and leaves build/.packages-NAME
# behind. While that stamp is newer knowledge than this file (it holds this file's
# checksum) nothing is checked again. Exits 2 when something is missing that it cannot
# install. PATCHBAY_SKIP_PACKAGES=1 skips everything here.

# The one package whose name differs between releases of Debian: bookworm (12) and trixie (13).
boost_package() {
  case $(. /etc/os-release 2> /dev/null && printf '%s' "${VERSION_CODENAME:-}") in
    trixie) printf 'libboost1.83-dev\n' ;;
    *) printf 'libboost1.81-dev\n' ;;
  esac
}

# Packages of Debian 12 and 13: to build and run the program …
packages_run=(
  clang-19 lld-19 cmake ninja-build ccache pkg-config
  "$(boost_package)" libsimdjson-dev libfmt-dev libspdlog-dev libssl-dev libre2-dev libpcre2-dev libcurl4-openssl-dev
  libyaml-dev libpng-dev libjpeg62-turbo-dev libwebp-dev
)
# … to test it …
packages_test=(
  libclang-rt-19-dev clang-format-19 libgtest-dev libgmock-dev g++
  util-linux iproute2 procps git ca-certificates python3 openssl nginx-light tinyproxy-bin
  chromium groff-base dpkg-dev file libsecret-1-0 gnome-keyring dbus-daemon dbus-bin
  bubblewrap curl tmux libmd4c0 libvterm-dev
)
# … and what single flags of ./test need on top.
packages_tidy=(clang-tidy-19 clang-tools-19)
packages_tsan=(llvm-19)  # its symbolizer: what is suppressed is named by function
packages_bare=(debootstrap)
packages_bench=(valgrind binutils python3-venv util-linux)
packages_docs=(doxygen mandoc lintian zsh fish)

say() { printf 'patchbay: %s\n' "$*" >&2; }

# Whether stderr is a terminal on which a line can be drawn again.
on_terminal() { [[ -t 2 && ${TERM:-dumb} != dumb ]]; }
# redraw [TEXT]: shows the text in place of the line before, cut to the width of the terminal.
redraw() {
  local text=${1:-} rows columns
  read -r rows columns < <(stty size <&2 2> /dev/null)
  ((${rows:-0} > 0 && ${columns:-0} > 1)) || columns=80
  printf '\r\e[K%s' "${text:0:columns-1}" >&2
}
# redraw_lines LABEL: shows each line of stdin in place of the one before.
redraw_lines() {
  local line
  while IFS= read -r line; do redraw "$1: $line"; done
  redraw
}

# For systems without apt-get, and for Debian relatives that lack a package.
explain_requirements() {
  cat >&2 <<'EOF'
Patchbay needs, to build:
  clang and lld 19 or newer, with libstdc++ 12 or newer; or g++ 14 (earlier ones miscompile coroutines)
  CMake 3.25, Ninja 1.11, pkg-config; ccache if you like
  Boost 1.81 (headers), simdjson 3.0, fmt 9, spdlog 1.10, OpenSSL 3.0, RE2, PCRE2 10.40, libcurl 7.87,
  libyaml 0.2.5, each with its development files; libpng, libjpeg-turbo and libwebp if images shall be scaled
and for ./test also:
  the sanitizer runtimes of that clang, clang-format 19, GoogleTest and GoogleMock 1.12, g++ 12
  node 18 or newer with npm, Python 3.11 or newer, git, util-linux, iproute2, procps, CA certificates, openssl, nginx, tinyproxy,
  Chromium, groff, curl, tmux, libvterm 0.1.4; libmd4c; dpkg-dev and file for the packages; libsecret, GNOME Keyring and a D-Bus daemon
Once they are installed: PATCHBAY_SKIP_PACKAGES=1 CC=clang CXX=clang++ ./run
EOF
}

packages_stamp() { printf 'build/.packages-%s' "$1"; }
packages_key() { cksum < scripts/packages.sh; }

ensure_packages() {
  local name=$1 stamp missing=() package
  shift
  [[ ${PATCHBAY_SKIP_PACKAGES:-} == 1 ]] && return 0
  stamp=$(packages_stamp "$name")
  [[ -f $stamp && $(<"$stamp") == "$(packages_key)" ]] && return 0

  if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
    say "this system has no apt-get, so nothing can be installed for you."
    explain_requirements
    exit 2
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
  done
  if ((${#missing[@]})); then
    local line="apt-get install -y --no-install-recommends ${missing[*]}"
    if ((EUID != 0)); then
      say "these packages are missing: ${missing[*]}"
      say "install them with"
      printf '  sudo apt-get update && sudo %s\n' "$line" >&2
      exit 2
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    mkdir -p build
    local status=0
    if on_terminal; then
      install_packages "$line" 2>&1 | tee build/packages.log | redraw_lines 'patchbay: installing'
      status=${PIPESTATUS[0]}
    else
      install_packages "$line" > build/packages.log 2>&1 || status=$?
    fi
    if ((status)); then
      tail -n 20 build/packages.log >&2
      say "the packages could not be installed; the whole log is build/packages.log"
      explain_requirements
      exit 2
    fi
  fi
  mkdir -p build
  packages_key > "$stamp"
}

install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update || return 1
  # shellcheck disable=SC2086  # the line is words by design: it is what a person would type
  $1
}

# node and npm are taken from wherever they come; Debian's are installed only when there
# are none, because Debian's npm conflicts with a node from another source.
node_packages() {
  command -v node > /dev/null || printf 'nodejs\n'
  command -v npm > /dev/null || printf 'npm\n'
}
