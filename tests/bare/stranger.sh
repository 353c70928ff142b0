# shellcheck shell=bash
# Run by bare.sh inside a Debian that has nothing but the packages in /packages: installs
# them with apt, and builds and runs the examples that came along.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
say() { printf '== %s\n' "$*"; }
install() { apt-get install -y --no-install-recommends "$@" > /apt.log 2>&1 || { tail -n 20 /apt.log; exit 1; }; }
chmod 755 /packages
chmod 644 /packages/*.deb
apt-get update > /dev/null

say 'apt install patchbay'
install /packages/patchbay_*.deb
patchbay --version
cd /tmp
patchbay tools --json | grep -q '"mcp__patchbay__read_file"'
test -s /usr/share/man/man1/patchbay.1.gz

say 'apt install libpatchbay-dev, g++ and pkg-config; blocking.cpp by hand'
install /packages/libpatchbay-dev_*.deb g++ pkg-config
cp -r /usr/share/doc/libpatchbay-dev/examples /tmp/examples
cd /tmp/examples
# shellcheck disable=SC2046  # flags are words
g++ -std=c++23 blocking.cpp $(pkg-config --cflags --libs patchbay)
./a.out | tee /tmp/blocking.out
grep -qx 'mcp__files__read_file' /tmp/blocking.out
grep -qx 'water the plants' /tmp/blocking.out

say 'apt install clang-19, cmake, make; call_tool.cpp with CMake, and by hand'
install clang-19 cmake make
CXX=clang++-19 cmake -S . -B build > /cmake.log 2>&1 || { cat /cmake.log; exit 1; }
cmake --build build
build/call_tool | tee /tmp/call_tool.out
grep -qx 'read_file' /tmp/call_tool.out
grep -qx 'water the plants' /tmp/call_tool.out
# shellcheck disable=SC2046
clang++-19 -std=c++23 call_tool.cpp $(pkg-config --cflags --libs patchbay) -o by_hand
./by_hand > /tmp/by_hand.out
cmp /tmp/call_tool.out /tmp/by_hand.out

if (($(g++ -dumpversion | cut -d. -f1) >= 14)); then
  say "the same with g++ $(g++ -dumpfullversion)"
  CXX=g++ cmake -S . -B build-gcc > /cmake.log 2>&1 || { cat /cmake.log; exit 1; }
  cmake --build build-gcc
  build-gcc/call_tool > /tmp/gcc.out
  cmp /tmp/call_tool.out /tmp/gcc.out
fi

say 'apt remove leaves nothing'
apt-get purge -y patchbay libpatchbay-dev > /apt.log 2>&1
if find /usr -ipath '*patchbay*' | grep .; then exit 1; fi
say 'all of it worked'
