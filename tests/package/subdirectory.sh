#!/usr/bin/env bash
# subdirectory.sh BUILD JOBS: a project that has this one inside, with add_subdirectory. Compiles the
# library and the examples in BUILD, with g++ where it is new enough for coroutines (14) and else
# with clang; warnings are errors. Called by ./test, which then runs the examples.
set -euo pipefail
build=$1 jobs=$2 outer=$1/outer source=$(readlink -f "$(dirname "$0")/../..")
compiler=${CXX:-clang++-19} c_compiler=${CC:-clang-19}
if (($(g++ -dumpversion | cut -d. -f1) >= 14)); then compiler=g++ c_compiler=gcc; fi

rm -rf "$outer"
mkdir -p "$outer"
cp -rp "$source/examples" "$outer/examples"
cat > "$outer/CMakeLists.txt" << EOF
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX)
add_subdirectory("$source" patchbay)
foreach(example call_tool serve host own_transport model_tools agent sign_in blocking)
  add_executable(\${example} examples/\${example}.cpp)
  target_link_libraries(\${example} PRIVATE patchbay::patchbay)
  target_compile_options(\${example} PRIVATE -Wall -Wextra -Werror)
  # As docs/install.md says of g++ 14.
  target_compile_options(\${example} PRIVATE \$<\$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
endforeach()
EOF
cmake -S "$outer" -B "$build" -G Ninja -DCMAKE_C_COMPILER="$c_compiler" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPATCHBAY_WERROR=ON
ninja -C "$build" -j "$jobs" call_tool serve host own_transport model_tools agent sign_in blocking
printf 'built with %s %s\n' "$compiler" "$("$compiler" -dumpversion)"
