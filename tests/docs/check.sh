#!/usr/bin/env bash
# check.sh PROGRAM: the documents against what is there. Links between them lead somewhere, the
# commands, flags and tests they name exist, and the README shows the examples as they are.
set -uo pipefail
program=$1
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
bad=0
wrong() { printf '%s\n' "$*"; bad=1; }

mapfile -t documents < <(find . -name build -prune -o -name node_modules -prune -o -name '.?*' -prune -o -name '*.md' -print | sort)
((${#documents[@]} > 5)) || wrong 'no documents were found'

links=0
for document in "${documents[@]}"; do
  # Code is not prose: brackets and parentheses mean other things there.
  while IFS= read -r target; do
    case $target in
      http://* | https://* | mailto:* | '#'*) continue ;;
    esac
    links=$((links + 1))
    [[ -e $(dirname "$document")/${target%%#*} ]] || wrong "$document: nothing at $target"
  done < <(awk '/^ *```/ { code = !code; next } !code { gsub(/`[^`]*`/, ""); print }' "$document" |
    grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\(|\)$//g')
done
((links > 10)) || wrong "only $links links were found"

# Every `patchbay WORD` in a table or a block of commands. A flag that takes a value is followed by it.
help=$("$program" --help)
while IFS= read -r name; do help+=$'\n'$("$program" "$name" --help); done < <(
  sed -nE '/^Subcommands:/,/^$/ s/^  ([a-z-]+) .*/\1/p' <<< "$help")
takes_value() { grep -qE -- "^ +(-[a-z],)?$1 [A-Z]" <<< "$help"; }
commands=0
check_line() {
  local words word skip=0
  read -ra words <<< "$1"
  for word in "${words[@]}"; do
    if ((skip)); then
      skip=0
      continue
    fi
    case $word in
      --*)
        if takes_value "$word"; then skip=1; fi
        grep -qE -- "(^|[ ,])${word%%=*}([ ,:=]|\$)" <<< "$help" || wrong "$2: there is no flag ${word%%=*}"
        continue
        ;;
    esac
    [[ $word =~ ^[a-z][a-z-]*$ ]] || return
    commands=$((commands + 1))
    "$program" "$word" --help > /dev/null 2>&1 || wrong "$2: there is no command $word"
    return
  done
}
for document in "${documents[@]}"; do
  [[ $document == ./CHANGELOG.md ]] && continue
  while IFS= read -r line; do check_line "$line" "$document"; done < <(
    awk '/^ *```/ { code = /```(sh|bash|console)/; next } code { sub(/ #.*/, ""); print }' "$document" |
      sed -nE 's/^[ $]*(.*\| *)?(\.\/run|patchbay)( +|$)//p'
    grep -oE '`(\./run|patchbay)( [^`]*)`' "$document" | sed -E 's/^`(\.\/run|patchbay) //; s/`$//'
  )
done
((commands > 5)) || wrong "only $commands commands were found"

# Every `Suite.Name` of a test in the document about testing.
tests=0
while IFS=. read -r suite name; do
  tests=$((tests + 1))
  [[ $name == '*' ]] && name='[A-Za-z0-9_]+'
  grep -rqE "TEST(_[FP])?\\($suite, $name\\)" tests --include='*_test.cpp' || wrong "docs/testing.md: there is no test $suite.$name"
done < <(grep -E '^\|' docs/testing.md | grep -oE '`[A-Z][A-Za-z0-9]+\.([A-Z][A-Za-z0-9_]+|\*)`' | tr -d '\`' | sort -u)
((tests > 10)) || wrong "only $tests tests were found"

readme=$(< README.md)
for example in examples/*.cpp examples/CMakeLists.txt examples/.mcp.json; do
  [[ $readme == *"$(< "$example")"* ]] || wrong "README.md does not show $example as it is"
done

# Every command is in the table, and every page for users is linked.
while IFS= read -r name; do
  grep -qE "^\|.*\`(patchbay )?(mcp )?$name[ \`]" README.md || wrong "README.md: the table has no command $name"
done < <(sed -nE '/^Subcommands:/,/^$/ s/^  ([a-z-]+) .*/\1/p' <<< "$("$program" --help)")
for page in docs/*.md; do
  grep -q "]($page)" README.md || wrong "README.md has no link to $page"
done

# The quick start, typed as it stands by somebody with an empty home: every block up to the one with mcp add, in the
# order of the page. Nothing in them needs the network.
block=$(awk '/^## Quick start/ { on = 1 }
  on && /^```sh/ { text = ""; code = 1; next }
  /^```/ { if (code) { printf "%s", text; if (text ~ /mcp add/) exit } code = 0 }
  code { text = text $0 "\n" }' README.md)
[[ $block == *'mcp add'*'mcp list'*'call '* ]] || wrong 'README.md has no quick start with mcp add, mcp list and a call'
home=$(mktemp -d)
typed=${block//\"\$PWD\/run\"/\"$PWD/$program\"}
typed=${typed//.\/run/\"$PWD/$program\"}
if [[ $program == /* ]]; then typed=${typed//"$PWD/$program"/"$program"}; fi
if ! command -v jq > /dev/null; then typed=${typed//jq -r \'.tools[].name\'/cat}; fi
shown=$(env HOME="$home" XDG_CONFIG_HOME="$home/.config" XDG_STATE_HOME="$home/.state" XDG_CACHE_HOME="$home/.cache" \
  CLAUDE_CONFIG_DIR="$home/.claude" timeout 120 bash -euo pipefail -c "$typed" 2>&1) || wrong "README.md: the quick start fails: $shown"
for expected in 'patchbay  connected' 'mcp__patchbay__read_file' 'Added stdio MCP server docs' '✔ Connected' 'Five rings' 'Added HTTP MCP server sentry' 'Removed MCP server sentry'; do
  [[ $shown == *"$expected"* ]] || wrong "README.md: the quick start does not show '$expected': $shown"
done
[[ $shown != *'No line matches'* ]] || wrong "README.md: the quick start looks for what is not there: $shown"

# The block behind the first .mcp.json, in a project that has it. Our own server stands in for the one from npm, and nobody
# is there to be asked.
file=$(awk '/^```json/ { code = 1; next } /^```/ { if (code) exit } code' README.md)
[[ $file == *server-filesystem* ]] || wrong 'README.md has no .mcp.json with server-filesystem'
mkdir "$home/project"
[[ $program == /* ]] && binary=$program || binary=$PWD/$program
sed -E "s|\"npx\"|\"$binary\"|; s|\"-y\", \"@[^\"]*\"|\"serve\", \"--root\"|" <<< "$file" > "$home/project/.mcp.json"
block=$(awk '/^```json/ { on = 1 } on && /^```sh/ { code = 1; next } /^```/ { if (code) exit } code' README.md)
[[ $block == *'approve files'*'call files/'* ]] || wrong 'README.md has no commands behind the first .mcp.json'
typed=${block//.\/run tools files/./run tools files || true}
typed=${typed//.\/run/\"$binary\"}
typed=${typed//read_text_file/read_file}
shown=$(cd "$home/project" && env HOME="$home" XDG_CONFIG_HOME="$home/.config" XDG_STATE_HOME="$home/.state" \
  XDG_CACHE_HOME="$home/.cache" CLAUDE_CONFIG_DIR="$home/.claude" timeout 120 bash -euo pipefail -c "$typed" 2>&1) ||
  wrong "README.md: the commands behind .mcp.json fail: $shown"
for expected in 'awaiting approval' "Approved 'files'" 'water the plants' 'files  connected'; do
  [[ $shown == *"$expected"* ]] || wrong "README.md: the commands behind .mcp.json do not show '$expected': $shown"
done
rm -rf "$home"

printf '%d links, %d commands, %d tests\n' "$links" "$commands" "$tests"
exit $bad
