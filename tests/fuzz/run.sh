#!/usr/bin/env bash
# run.sh NAME: lets one fuzz target look for new inputs, for PATCHBAY_FUZZ_SECONDS (60).
# What it learns is kept in build/fuzz-corpus/NAME for the next time; what breaks a promise is
# a file in build/fuzz-findings. The last line says how much was tried. Fails on a finding,
# and when nothing ran. ./test --fuzz calls it for every target.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." || exit 70
name=$1
seconds=${PATCHBAY_FUZZ_SECONDS:-60}
program=build/fuzz/bin/fuzz-$name
material=tests/fuzz
learned=build/fuzz-corpus/$name findings=build/fuzz-findings

if [[ ! -x $program ]]; then
  printf '%s was not built\n' "$program"
  exit 1
fi
mkdir -p "$learned" "$findings"
folders=("$learned" "$material/corpus/$name")
if [[ -d $material/regressions/$name ]]; then folders+=("$material/regressions/$name"); fi
case $name in
  message | content | wire_*) words=protocol ;;
  coerce) words=schema ;;
  *) words=$name ;;
esac
dictionary=()
if [[ -f $material/dictionaries/$words.dict ]]; then dictionary=("-dict=$material/dictionaries/$words.dict"); fi

# Five seconds for one input and a gigabyte of memory are far beyond what any input of 4 KiB
# may cost.
log=$findings/$name.log
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 timeout --kill-after=10 "$((seconds + 120))" \
  "$program" -max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=512 \
  -artifact_prefix="$findings/$name-" -print_final_stats=1 -verbosity=1 "${dictionary[@]}" "${folders[@]}" > "$log" 2>&1
status=$?
runs=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)$/\1/p' "$log" | tail -n 1)
read -r coverage features < <(sed -nE 's/^#[0-9]+\t[A-Za-z]+ +cov: ([0-9]+) ft: ([0-9]+) .*/\1 \2/p' "$log" | tail -n 1)
if ((status != 0)) || [[ -z $runs || $runs == 0 ]]; then
  grep -vE '^#[0-9]+\s|^INFO|^\s*$|^NEW_FUNC' "$log" | head -n 60
  printf '%s failed; the input is %s/%s-*, the whole log %s\n' "$name" "$findings" "$name" "$log"
  exit 1
fi
printf 'fuzz %-14s %9s runs in %s s, %s branches and %s features covered\n' \
  "$name" "$runs" "$seconds" "${coverage:-?}" "${features:-?}"
