#!/usr/bin/env bash
# check.sh PROGRAM: the documents against what is there. Links between them lead somewhere, the
# commands, flags and tests they name exist, what they tell people to type works, and examples are shown as they are.
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
# Every command there is, from the table that also makes the help.
all_commands() { "$program" completion zsh | sed -nE "s/^    '([a-z-]+):.*/\1/p" | sort -u; }
help=$("$program" --help)
while IFS= read -r name; do help+=$'\n'$("$program" "$name" --help); done < <(all_commands)
takes_value() { grep -qE -- "^ +(-[a-zA-Z], ?)?$1 [A-Z]" <<< "$help"; }
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
        grep -qE -- "(^|[ ,])${word%%=*}([][ ,:=]|\$)" <<< "$help" || wrong "$2: there is no flag ${word%%=*}"
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
# The picture of a terminal shows commands as well.
pictured=0
while IFS= read -r line; do
  pictured=$((pictured + 1))
  check_line "$line" docs/pictures/terminal.svg
done < <(sed -nE 's|.*>\$ patchbay (.*)</text>|\1|p' docs/pictures/terminal.svg)
((pictured == 4)) || wrong "docs/pictures/terminal.svg shows $pictured commands"
((commands > 5)) || wrong "only $commands commands were found"

# Every `Suite.Name` of a test in the document about testing.
tests=0
while IFS=. read -r suite name; do
  tests=$((tests + 1))
  [[ $name == '*' ]] && name='[A-Za-z0-9_]+'
  grep -rqE "TEST(_[FP])?\\($suite, $name\\)" tests --include='*_test.cpp' || wrong "docs/testing.md: there is no test $suite.$name"
done < <(grep -E '^\|' docs/testing.md | grep -oE '`[A-Z][A-Za-z0-9]+\.([A-Z][A-Za-z0-9_]+|\*)`' | tr -d '\`' | sort -u)
((tests > 10)) || wrong "only $tests tests were found"

# Examples are shown as they are.
embedding=$(< docs/embedding.md)
for example in examples/*.cpp examples/CMakeLists.txt examples/.mcp.json; do
  [[ $embedding == *"$(< "$example")"* ]] || wrong "docs/embedding.md does not show $example as it is"
done

# The program of the README compiles.
awk '/^```cpp/ { code = 1; next } /^```/ { code = 0 } code' README.md |
  "${CXX:-clang++-19}" -std=c++23 -Wall -Werror -fsyntax-only -Iinclude -x c++ - || wrong 'README.md: the program does not compile'

# So does that of docs/channels.md.
awk '/^```cpp/ { code = 1; next } /^```/ { code = 0 } code' docs/channels.md |
  "${CXX:-clang++-19}" -std=c++23 -Wall -Werror -fsyntax-only -Iinclude -x c++ - || wrong 'docs/channels.md: the program does not compile'

# Every command is in the table, every page is linked from the README, and that stays short.
while IFS= read -r name; do
  grep -qE "^\|.*\`(patchbay )?(mcp )?$name[ \`]" docs/cli.md || wrong "docs/cli.md: the table has no command $name"
done < <(all_commands)
for page in docs/*.md; do
  grep -q "]($page)" README.md || wrong "README.md has no link to $page"
done
(($(wc -l < README.md) <= 90)) || wrong 'README.md has more than 90 lines'

# The chart shows the figures of docs/performance.md, and so does the text in its place.
[[ $(python3 docs/pictures/chart.py) == "$(< docs/pictures/calls.svg)" ]] ||
  wrong 'docs/pictures/calls.svg is not docs/performance.md: run python3 docs/pictures/chart.py > docs/pictures/calls.svg'
title=$(sed -nE 's|^<title>(.*)</title>$|\1|p' docs/pictures/calls.svg)
grep -qF "![$title](docs/pictures/calls.svg)" README.md || wrong "README.md: the text of the chart is not its title: $title"

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
[[ $program == /* ]] && binary=$program || binary=$PWD/$program
mkdir "$home/bin"
ln -s "$binary" "$home/bin/patchbay"
# typed DIRECTORY COMMANDS: what somebody with an empty home sees who types this.
typed() {
  (cd "$1" && env HOME="$home" PATH="$home/bin:$PATH" XDG_CONFIG_HOME="$home/.config" XDG_STATE_HOME="$home/.state" \
    XDG_CACHE_HOME="$home/.cache" CLAUDE_CONFIG_DIR="$home/.claude" timeout 120 bash -euo pipefail -c "$2" 2>&1)
}
# blocks FILE HEADING: the commands of a section, in the order of the page.
blocks() {
  awk -v heading="$2" '/^## / { on = $0 == "## " heading } on && /^```sh/ { code = 1; next } /^```/ { code = 0 } on && code' "$1"
}

# The quick start of the README, typed as it stands. Nothing in it needs the network.
block=$(blocks README.md 'Quick start')
[[ $block == *' add '*' tools '*' call '* ]] || wrong 'README.md has no quick start with add, tools and call'
block=${block//\"\$PWD\/run\"/\"$binary\"}
shown=$(typed . "${block//.\/run/patchbay}") || wrong "README.md: the quick start fails: $shown"
for expected in 'Added stdio MCP server docs' 'mcp__docs__read_file' '# Glossary'; do
  [[ $shown == *"$expected"* ]] || wrong "README.md: the quick start does not show '$expected': $shown"
done
typed . 'patchbay remove docs' > /dev/null || wrong 'README.md: the server of the quick start cannot be removed'

# The first steps of docs/cli.md: the commands before the .mcp.json here, those behind it in a project that has it. Our own
# server stands in for the one from npm, and nobody is there to be asked.
block=$(blocks docs/cli.md 'First steps')
[[ $block == *'mcp add'*'mcp list'*'call '*'mkdir '*'approve files'*'call files/'* ]] || wrong 'docs/cli.md has no first steps with mcp add and .mcp.json'
before=${block%%mkdir *} behind=mkdir\ ${block#*mkdir }
command -v jq > /dev/null || before=${before//jq -r \'.tools[].name\'/cat}
shown=$(typed . "$before") || wrong "docs/cli.md: the first steps fail: $shown"
for expected in 'patchbay  connected' 'mcp__patchbay__read_file' 'Added stdio MCP server docs' '✔ Connected' 'Five rings'; do
  [[ $shown == *"$expected"* ]] || wrong "docs/cli.md: the first steps do not show '$expected': $shown"
done
[[ $shown != *'No line matches'* ]] || wrong "docs/cli.md: the first steps look for what is not there: $shown"

# The searches of docs/model-tools.md, in a directory without servers: our own one is there.
block=$(awk '/^```sh/ { code = 1; next } /^```/ { if (code) exit } code' docs/model-tools.md | grep -v -- --cached)
[[ $block == *'search read'*'search select:'* ]] || wrong 'docs/model-tools.md has no searches'
mkdir "$home/empty"
shown=$(typed "$home/empty" "$block") || wrong "docs/model-tools.md: the searches fail: $shown"
for expected in 'mcp__patchbay__read_file(' '"mcp__patchbay__glob"' '"inputSchema"'; do
  [[ $shown == *"$expected"* ]] || wrong "docs/model-tools.md: the searches do not show '$expected': $shown"
done

file=$(awk '/^```json/ { code = 1; next } /^```/ { if (code) exit } code' docs/cli.md)
[[ $file == *server-filesystem* ]] || wrong 'docs/cli.md has no .mcp.json with server-filesystem'
mkdir "$home/project"
sed -E "s|\"npx\"|\"$binary\"|; s|\"-y\", \"@[^\"]*\"|\"serve\", \"--root\"|" <<< "$file" > "$home/project/.mcp.json"
behind=${behind//patchbay tools files/patchbay tools files || true}
shown=$(typed "$home/project" "${behind//read_text_file/read_file}") || wrong "docs/cli.md: the commands behind .mcp.json fail: $shown"
for expected in 'awaiting approval' 'Approved "files"' 'water the plants' 'files  connected'; do
  [[ $shown == *"$expected"* ]] || wrong "docs/cli.md: the commands behind .mcp.json do not show '$expected': $shown"
done

# Locking a project, as docs/pins.md has it.
block=$(blocks docs/pins.md 'Locking a project')
[[ $block == *'patchbay lock'*'patchbay verify'*'sed -i'* ]] || wrong 'docs/pins.md has no example with lock and verify'
mkdir "$home/locked"
shown=$(typed "$home/locked" "$block") || wrong "docs/pins.md: the example fails: $shown"
for expected in 'Locked 1 server with' '1 server is as the lock file says' 'its description is another one' 'exit code 2'; do
  [[ $shown == *"$expected"* ]] || wrong "docs/pins.md: the example does not show '$expected': $shown"
done

printf '%d links, %d commands, %d tests\n' "$links" "$commands" "$tests"
exit $bad
