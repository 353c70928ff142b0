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

# progress_text DONE TOTAL SECONDS: how far a build is, and how long it will still take.
progress_text() {
  local done=$1 total=$2 seconds=$3 left=
  # The first few files say little about the others.
  if ((seconds >= 10 && done > 0)); then
    left=$((seconds * (total - done) / done))
    if ((left >= 90)); then left=", about $(((left + 30) / 60)) minutes left"; else left=", about $left seconds left"; fi
  fi
  printf 'building: %d %% [%d/%d]%s' $((100 * done / total)) "$done" "$total" "$left"
}

# show_progress: what ninja prints, with one line in place of all its status lines.
show_progress() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\ ([0-9]+)\.[0-9]+s\]\  ]]; then
      redraw "patchbay: $(progress_text "${BASH_REMATCH[@]:1:3}")"
    elif [[ $line != 'ninja: no work to do.' && $line != '-- '* && $line != '/usr/bin/cmake -E env '* ]]; then
      redraw
      printf '%s\n' "$line" >&2
    fi
  done
  redraw
}

# build PRESET [TARGET...]: on a terminal how far it is, and the errors; elsewhere only the errors, if any.
build() {
  local tree=build/$1
  shift
  if on_terminal; then
    (cd "$tree" && NINJA_STATUS='[%f/%t %es] ' ninja -j "$(build_jobs)" "$@" 2>&1) | show_progress
    return "${PIPESTATUS[0]}"
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
