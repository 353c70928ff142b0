#!/usr/bin/env bash
# shells.sh PROGRAM SCRATCH: the completions in the zsh and the fish that are installed, and the manual
# page under mandoc's eyes. Bash and groff are looked after by tests/process/manual_test.cpp.
set -uo pipefail
program=$1 scratch=$2
bad=0
wrong() { printf '%s\n' "$*"; bad=1; }
PATH=$(dirname "$program"):$PATH

mkdir -p "$scratch/zsh"
"$program" completion zsh > "$scratch/zsh/_patchbay"
zsh -fn "$scratch/zsh/_patchbay" || wrong 'zsh cannot read its completion'
# A zsh on a terminal of its own: what is typed, then Tab twice, lists what is offered.
offered_by_zsh() {
  zsh -f -c '
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; LISTMAX=1000; cd $2; print rea\"\"dy"
    zpty -r z seen "*ready*" || exit 1
    zpty -n -w z "$3"$'"'\t\t'"'
    found=
    for ((i = 0; i < 100; i++)); do
      if zpty -r -t z part; then found+=$part; [[ $found == *$4* ]] && break; else sleep 0.1; fi
    done
    print -r -- "$found"
  ' zsh "$scratch/zsh" "$scratch" "$1" "$2"
}
found=$(offered_by_zsh 'patchbay ' 'resources')
[[ $found == *resources*  ]] || wrong "zsh offers no commands: $found"
found=$(offered_by_zsh 'patchbay --strict' 'mcp-config')
[[ $found == *mcp-config* ]] || wrong "zsh offers no flags: $found"
found=$(offered_by_zsh 'patchbay mcp ' 'reset-project-choices')
[[ $found == *reset-project-choices* ]] || wrong "zsh offers no commands of mcp: $found"

"$program" completion fish > "$scratch/patchbay.fish"
fish --no-execute "$scratch/patchbay.fish" || wrong 'fish cannot read its completion'
offered_by_fish() { (cd "$scratch" && HOME=$scratch fish --no-config -c "source $scratch/patchbay.fish; complete -C '$1'" | cut -f 1); }
for pair in 'patchbay to=tools' 'patchbay --strict=--strict-mcp-config' 'patchbay --log-level de=debug' \
  'patchbay completion f=fish' 'patchbay tools p=patchbay' 'patchbay mcp add-j=add-json' \
  'patchbay mcp add --call=--callback-port' 'patchbay add --scope u=user' 'patchbay call patchbay/=patchbay/'; do
  found=$(offered_by_fish "${pair%=*}")
  [[ $found == "${pair##*=}" ]] || wrong "fish offers for '${pair%=*}': $found"
done

# No date is no mistake here: the page is the same whenever it is made.
found=$("$program" man | mandoc -T lint -W warning | grep -v 'missing date')
[[ -z $found ]] || wrong "$found"
exit $bad
