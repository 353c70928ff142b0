#!/usr/bin/env bash
# use.sh PREFIX SCRATCH: what a stranger does with an installed Patchbay. Builds the examples
# against PREFIX alone, with CMake and clang, and g++ where it is new enough, and by hand with
# pkg-config and g++; runs them and compares what they print. Called by ./test for an installed
# copy and for the packages.
set -euo pipefail
prefix=$1 examples=$2/examples
fail() { printf '%s\n' "$*"; exit 1; }

"$(dirname "$0")/headers.sh" "$prefix/include"

# Warnings and other options are the choice of who builds.
if grep -rn 'INTERFACE_COMPILE_OPTIONS' "$prefix" --include='*.cmake'; then fail 'programs that link the library get these options'; fi

cp -r "$(dirname "$0")/../../examples" "$examples"
# An example that does not fit a page is a tutorial. The one that makes its own connection has to show both ends.
for file in "$examples"/*.cpp; do
  lines=$(wc -l < "$file") most=25
  [[ $file == */own_transport.cpp ]] && most=31
  ((lines <= most)) || fail "$(basename "$file") has $lines lines; $most are allowed"
done

compilers=("${CXX:-clang++-19}")
if (($(g++ -dumpversion | cut -d. -f1) >= 14)); then compilers+=(g++); fi
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name patchbay.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs patchbay)
PATH=$prefix/bin:$PATH
[[ $(command -v patchbay) == "$prefix/bin/patchbay" ]] || fail "there is no $prefix/bin/patchbay"
for compiler in "${compilers[@]}"; do
  rm -rf "$examples/build"
  cmake -S "$examples" -B "$examples/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' -DCMAKE_PREFIX_PATH="$prefix" > "$2/cmake.log" || { cat "$2/cmake.log"; exit 1; }
  ninja -C "$examples/build" > "$2/ninja.log" || { cat "$2/ninja.log"; exit 1; }
  g++ -std=c++23 -Wall -Wextra -Werror -o "$examples/build/blocking" "$examples/blocking.cpp" "${flags[@]}"
  "$(dirname "$0")/examples.sh" "$examples" "$examples/build"
done
patchbay --version
