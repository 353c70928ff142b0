#!/usr/bin/env bash
# use.sh PREFIX SCRATCH: what a stranger does with an installed Patchbay. Builds the examples
# against PREFIX alone, with CMake and clang, and by hand with pkg-config and g++; runs them
# and compares what they print. Called by ./test for an installed copy and for the packages.
set -euo pipefail
prefix=$1 examples=$2/examples
fail() { printf '%s\n' "$*"; exit 1; }

cp -r "$(dirname "$0")/../../examples" "$examples"
# An example that does not fit a page is a tutorial.
for file in "$examples"/*.cpp; do
  lines=$(grep -c '[^[:space:]]' "$file")
  ((lines <= 20)) || fail "$(basename "$file") has $lines lines that are not blank; 20 are allowed"
done

cmake -S "$examples" -B "$examples/build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" \
  -DCMAKE_PREFIX_PATH="$prefix" > "$2/cmake.log" || { cat "$2/cmake.log"; exit 1; }
ninja -C "$examples/build" > "$2/ninja.log" || { cat "$2/ninja.log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name patchbay.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs patchbay)
g++ -std=c++23 -Wall -Werror -o "$examples/build/blocking" "$examples/blocking.cpp" "${flags[@]}"

PATH=$prefix/bin:$PATH
cd "$examples"
wanted='mcp__files__edit_file
mcp__files__glob
mcp__files__grep
mcp__files__list_dir
mcp__files__read_file
mcp__files__write_file
water the plants'
for program in coroutine blocking; do
  got=$("build/$program") || fail "$program failed"
  # Without the blank line that ends the file it read, and in one order.
  got=$(sed '/^$/d' <<< "$got")
  [[ $got == "$wanted" ]] || fail "$program printed:"$'\n'"$got"$'\n'"and not:"$'\n'"$wanted"
done
[[ $(command -v patchbay) == "$prefix/bin/patchbay" ]] || fail "there is no $prefix/bin/patchbay"
patchbay --version
