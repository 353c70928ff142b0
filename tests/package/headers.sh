#!/usr/bin/env bash
# headers.sh INCLUDE_DIR: every public header compiles alone, without a warning, with clang 19, and those without
# coroutines with g++ 12; without C++23 there is one clear message. Called by use.sh for an installed copy.
set -euo pipefail
include=$1
fail() { printf '%s\n' "$*"; exit 1; }
flags=(-Wall -Wextra -Wpedantic -Werror "-I$include" -fsyntax-only -x c++)
clang=${CXX:-clang++-19}
headers=0
for header in "$include"/patchbay/*.h; do
  name=patchbay/$(basename "$header")
  text="#include <$name>"
  headers=$((headers + 1))
  out=$("$clang" -std=c++23 "${flags[@]}" - <<< "$text" 2>&1) || fail "$name does not compile alone with $clang:"$'\n'"$out"
  if out=$("$clang" -std=c++20 "${flags[@]}" - <<< "$text" 2>&1); then fail "$name compiles without C++23, by chance"; fi
  grep -q 'Patchbay needs C++23' <<< "$out" || fail "$name does not say that it needs C++23:"$'\n'"$out"
  (($(grep -c 'error:' <<< "$out") == 2)) || fail "$name says more than that it needs C++23:"$'\n'"$out"
  # What g++ before 14 compiles wrongly says so itself.
  if out=$(g++ -std=c++23 "${flags[@]}" - <<< "$text" 2>&1); then continue; fi
  grep -q 'build with clang-19, or use <patchbay/blocking.h>' <<< "$out" || fail "$name does not compile with g++:"$'\n'"$out"
  [[ $name != patchbay/blocking.h ]] || fail "blocking.h does not compile with g++"
done
designated=$(dirname "$(readlink -f "$0")")/designated.cpp
"$clang" -std=c++23 "${flags[@]}" -DCOROUTINES "$designated" || fail 'a member that is left out is a warning of clang'
coroutines=()
if (($(g++ -dumpversion | cut -d. -f1) >= 14)); then coroutines=(-DCOROUTINES); fi
g++ -std=c++23 "${flags[@]}" "${coroutines[@]}" "$designated" || fail 'a member that is left out is a warning of g++'
((headers > 15)) || fail "only $headers headers were found"
