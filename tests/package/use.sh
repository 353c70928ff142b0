#!/usr/bin/env bash
# use.sh PREFIX SCRATCH: what a stranger does with an installed Patchbay. Builds the examples
# against PREFIX alone, with CMake and clang, and by hand with pkg-config and g++; runs them
# and compares what they print. Called by ./test for an installed copy and for the packages.
set -euo pipefail
prefix=$1 examples=$2/examples
fail() { printf '%s\n' "$*"; exit 1; }

"$(dirname "$0")/headers.sh" "$prefix/include"

cp -r "$(dirname "$0")/../../examples" "$examples"
# An example that does not fit a page is a tutorial. The one that makes its own connection has to show both ends.
for file in "$examples"/*.cpp; do
  lines=$(wc -l < "$file") most=25
  [[ $file == */own_transport.cpp ]] && most=31
  ((lines <= most)) || fail "$(basename "$file") has $lines lines; $most are allowed"
done

cmake -S "$examples" -B "$examples/build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" \
  -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' -DCMAKE_PREFIX_PATH="$prefix" > "$2/cmake.log" || { cat "$2/cmake.log"; exit 1; }
ninja -C "$examples/build" > "$2/ninja.log" || { cat "$2/ninja.log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name patchbay.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs patchbay)
g++ -std=c++23 -Wall -Wextra -Werror -o "$examples/build/blocking" "$examples/blocking.cpp" "${flags[@]}"

PATH=$prefix/bin:$PATH
cd "$examples"
tools='read_file
write_file
edit_file
list_dir
glob
grep'
# prints NAME WANTED: what an example prints, without the blank line that ends the file it read.
prints() {
  local got
  got=$("build/$1") || fail "$1 failed"
  got=$(sed '/^$/d' <<< "$got")
  [[ $got == "$2" ]] || fail "$1 printed:"$'\n'"$got"$'\n'"and not:"$'\n'"$2"
}
prints call_tool "$tools"$'\nwater the plants'
prints blocking "$(sed 's/^/mcp__files__/' <<< "$tools" | sort)"$'\nwater the plants'
prints host 'files connected
call mcp__files__read_file {"path":"todo.md"}? yes
water the plants'
prints own_transport 'Hello, you'

# The server of the examples, called by the installed program: as its child, and over HTTP.
# answers WAY WANTED TOOL ARGUMENT...
answers() {
  local got way=$1 wanted=$2
  shift 2
  got=$(patchbay call --strict-mcp-config --mcp-server "demo=$way" "$@" 2> /dev/null) || fail "serve: $* failed over $way"
  [[ $got == "$wanted" ]] || fail "serve: $* answered '$got' over $way, and not '$wanted'"
}
mkfifo url
build/serve 0 > url &
serving=$!
trap 'kill "$serving"' EXIT
read -r url < url
for way in "$PWD/build/serve" "$url"; do
  answers "$way" 42 demo/add a=40 b=2
  answers "$way" 42 demo/add a=41
  answers "$way" 'Hello, you' demo/greet name=you
done
[[ $(command -v patchbay) == "$prefix/bin/patchbay" ]] || fail "there is no $prefix/bin/patchbay"
patchbay --version
