# shellcheck shell=bash
# Configuring and building, shared by ./run and ./test. Talk goes to stderr only: stdout
# belongs to the program that ./run starts.

# As many compilers as there are processors, but no more than memory allows: one of the
# coroutine files takes up to 1 GiB.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2> /dev/null)
  if [[ -n $memory ]] && ((memory < cores)); then cores=$((memory > 0 ? memory : 1)); fi
  printf '%s' "$cores"
}

# configure PRESET [-Dname=value...]: runs CMake when there is no build tree yet, or when
# an option differs from what the tree was configured with.
configure() {
  local preset=$1 tree=build/$1 option name value wanted=() stale=0
  shift
  [[ -f $tree/build.ninja ]] || stale=1
  for option in "$@"; do
    name=${option#-D} value=${name#*=} name=${name%%=*}
    grep -qs "^$name:[A-Z]*=$value\$" "$tree/CMakeCache.txt" || stale=1
    wanted+=("$option")
  done
  ((stale)) || return 0
  [[ -n ${CC:-} ]] && wanted+=("-DCMAKE_C_COMPILER=$CC")
  [[ -n ${CXX:-} ]] && wanted+=("-DCMAKE_CXX_COMPILER=$CXX")
  mkdir -p "$tree"
  say "configuring $tree"
  if ! cmake --preset "$preset" "${wanted[@]}" > "$tree/configure.log" 2>&1; then
    cat "$tree/configure.log" >&2
    # A tree left half-configured would be taken for a good one next time.
    rm -f "$tree/build.ninja"
    return 1
  fi
}

# build PRESET [TARGET...]: ninja's own progress on a terminal; elsewhere only the errors,
# if any.
build() {
  local tree=build/$1
  shift
  if [[ -t 2 ]]; then
    (cd "$tree" && NINJA_STATUS='[%f/%t %es] ' ninja -j "$(build_jobs)" "$@" >&2)
  else
    ninja -C "$tree" -j "$(build_jobs)" "$@" > "$tree/build.log" 2>&1 && return 0
    grep -vE '^\[[0-9]+/[0-9]+\] |^ninja: Entering|^-- |^/usr/bin/cmake -E env ' "$tree/build.log" | head -n 200 >&2
    say "the whole log is $tree/build.log"
    return 1
  fi
}

# Whether nothing the program is built from changed since the stamp; directories count, so
# that a file added or removed is seen too. Asking ninja takes thirty times as long.
up_to_date() {
  [[ -f $1 && -z $(find src include cmake CMakeLists.txt CMakePresets.json -newer "$1" -print -quit) ]]
}
