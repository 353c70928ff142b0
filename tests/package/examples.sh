#!/usr/bin/env bash
# examples.sh SOURCES BUILD: the examples built in BUILD print what they should, with the program
# patchbay of PATH. Called by use.sh and subdirectory.sh.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")") build=$2
fail() { printf '%s\n' "$*"; exit 1; }
cd "$1"
tools='read_file
write_file
edit_file
list_dir
glob
grep'
# prints NAME WANTED: what an example prints, without the blank line that ends the file it read.
prints() {
  local got
  got=$("$build/$1") || fail "$1 failed"
  got=$(sed '/^$/d' <<< "$got")
  [[ $got == "$2" ]] || fail "$1 printed:"$'\n'"$got"$'\n'"and not:"$'\n'"$2"
}
prints call_tool "$tools"$'\nwater the plants'
prints blocking "$(sed 's/^/mcp__files__/' <<< "$tools" | sort)"$'\nwater the plants'
prints host 'files connected
call mcp__files__read_file {"path":"todo.md"}? yes
water the plants'
prints own_transport 'Hello, you'
prints model_tools $'mcp__files__read_file\nwater the plants'
prints agent $'mcp__clock__time\nmcp__files__read_file\nIt says: water the plants'

# A server that wants a sign-in, and a browser that follows where it is sent.
browser='import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()'
mkfifo page
python3 "$here/sign_in_server.py" > page &
closed=$!
trap 'kill "$closed"' EXIT
read -r url < page
signed_in=$(
  timeout 60 "$build/sign_in" "$url" | while read -r line; do
    if [[ $line == 'Sign in: '* ]]; then python3 -c "$browser" "${line#Sign in: }"; else printf '%s\n' "$line"; fi
  done
) || fail 'sign_in failed'
kill "$closed"
trap - EXIT
rm page
[[ $signed_in == vault ]] || fail "sign_in printed: $signed_in"

# The server of the examples, called by the installed program: as its child, and over HTTP.
# answers WAY WANTED TOOL ARGUMENT...
answers() {
  local got way=$1 wanted=$2
  shift 2
  got=$(patchbay call --strict-mcp-config --mcp-server "demo=$way" "$@" 2> /dev/null) || fail "serve: $* failed over $way"
  [[ $got == "$wanted" ]] || fail "serve: $* answered '$got' over $way, and not '$wanted'"
}
rm -f url
mkfifo url
"$build/serve" 0 > url &
serving=$!
trap 'kill "$serving"' EXIT
read -r url < url
for way in "$build/serve" "$url"; do
  answers "$way" 42 demo/add a=40 b=2
  answers "$way" 42 demo/add a=41
  answers "$way" 'Hello, you' demo/greet name=you
done
