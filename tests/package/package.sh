#!/usr/bin/env bash
# package.sh TREE SCRATCH: builds both Debian packages out of a build tree, looks at what is in
# them and uses them, unpacked into SCRATCH. Nothing is installed on this machine. The
# packages stay in TREE.
set -euo pipefail
tree=$(readlink -f "$1") scratch=$2 here=$(dirname "$(readlink -f "$0")")
fail() { printf '%s\n' "$*"; exit 1; }

rm -f "$tree"/*.deb
(cd "$tree" && cpack -G DEB) > "$scratch/cpack.log" 2>&1 || { cat "$scratch/cpack.log"; exit 1; }
for package in "$tree"/patchbay_*.deb "$tree"/libpatchbay-dev_*.deb; do
  dpkg-deb -x "$package" "$scratch/root"
done

# has PACKAGE FILE...: they are in it.
has() {
  local listing file
  listing=$(dpkg-deb -c "$tree/$1"_*.deb | awk '{ print $6 }')
  for file in "${@:2}"; do grep -qxF "./$file" <<< "$listing" || fail "$1 lacks $file"; done
  # Nothing outside /usr.
  if grep -vE '^\./(usr/.*)?$' <<< "$listing"; then fail "$1 has files outside /usr"; fi
}
has patchbay usr/bin/patchbay usr/libexec/patchbay/patchbay-warden usr/libexec/patchbay/patchbay-images usr/share/man/man1/patchbay.1.gz \
  usr/share/{bash-completion/completions/patchbay,zsh/vendor-completions/_patchbay,fish/vendor_completions.d/patchbay.fish} \
  usr/share/doc/patchbay/{copyright,changelog.Debian.gz,README.md}
has libpatchbay-dev usr/include/patchbay/{patchbay,blocking}.h usr/lib/libpatchbay.a \
  usr/lib/{cmake/patchbay/patchbayConfig.cmake,pkgconfig/patchbay.pc} \
  usr/share/doc/libpatchbay-dev/{copyright,changelog.Debian.gz,examples/call_tool.cpp}
# Nothing knows where it was built.
if grep -rlF "$(dirname "$(dirname "$tree")")/" "$scratch/root" --include='*.cmake' --include='*.pc' --include='*.h'; then
  fail 'these files name the source tree'
fi

# What programs need is found by dpkg-shlibdeps; what the library needs to be linked is in CMake.
[[ $(dpkg-deb -f "$tree"/patchbay_*.deb Depends) == *libc6\ *libssl3* ]] || fail 'patchbay does not depend on its libraries'
depends=$(dpkg-deb -f "$tree"/libpatchbay-dev_*.deb Depends)
for word in $(sed -nE 's/^find_dependency\(([A-Za-z0-9]+).*|.*find_library\([A-Z0-9_]+ ([a-z0-9]+).*/\1\2/p' "$here/../../cmake/patchbayConfig.cmake.in"); do
  case $word in
    Threads) continue ;;
    OpenSSL) word=ssl ;;
  esac
  [[ ${depends,,} == *lib${word,,}* ]] || fail "libpatchbay-dev does not depend on $word, which its CMake files look for"
done

# The archive is static, and says so when somebody wants something else.
if cmake -S "$here/../.." -B "$scratch/shared" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" \
  -DBUILD_SHARED_LIBS=ON > "$scratch/shared.log" 2>&1; then
  fail 'BUILD_SHARED_LIBS=ON was accepted'
fi
grep -q 'libpatchbay is a static library' "$scratch/shared.log" || { cat "$scratch/shared.log"; exit 1; }

bash "$here/use.sh" "$scratch/root/usr" "$scratch"
