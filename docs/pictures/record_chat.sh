#!/usr/bin/env bash
# record_chat.sh PROGRAM NODE_MODULES: holds a conversation on a real terminal, with an empty home, the npm package
# @modelcontextprotocol/server-filesystem from NODE_MODULES and a script in place of a model, and writes what the screen
# shows to chat.svg. Record it again when chat looks different. Needs tmux, python3 and node.
set -euo pipefail
program=$(readlink -f "$1") modules=$(readlink -f "$2")
cd "$(dirname "$(readlink -f "$0")")"

home=$(mktemp -d /tmp/XXX) # as long as /home/me, which the picture shows instead
terminal() { tmux -L "record-$$" -f /dev/null "$@"; }
trap 'terminal kill-server 2> /dev/null; rm -rf "$home"' EXIT
mkdir -p "$home/bin" "$home/notes"
ln -s "$program" "$home/bin/patchbay"
ln -s "$modules" "$home/node_modules" # where npx looks first
printf 'water the plants\ncall Ada about the boat\n' > "$home/notes/todo.md"
cat > "$home/model.json" << 'JSON'
{"turns": [
  {"text": "I look into your notes.", "calls": [{"name": "mcp__files__read_text_file", "input": {"path": "notes/todo.md"}}]},
  {"text": "Two things are left:\n\n1. **water the plants**\n2. call Ada about the *boat*\n\nShall I cross one out?"},
  {"calls": [{"name": "edit_file", "input": {"path": "notes/todo.md", "old_text": "water the plants\n", "new_text": ""}}]},
  {"text": "Done: `notes/todo.md` has one line now."}
]}
JSON

columns=88
terminal new-session -d -x $columns -y 60 -c "$home" \
  "env -i HISTFILE= HOME='$home' TERM=xterm-256color LANG=C.UTF-8 PATH='$home/bin:$PATH' PS1='$ ' bash --norc --noprofile"
terminal set-option -g status off
shown() { terminal capture-pane -e -p -t 0 | sed -e "s|$home|/home/me|g"; }
wait_for() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    if terminal capture-pane -p -t 0 | grep -qF -- "$1"; then return 0; fi
    sleep 0.1
  done
  echo "the screen never showed: $1" >&2
  shown >&2
  return 1
}
typed() {
  terminal send-keys -t 0 -l "$1"
  sleep 0.3 # until it is on the screen
  terminal send-keys -t 0 Enter
}
wait_for '$'
typed 'patchbay add files -- npx -y @modelcontextprotocol/server-filesystem ~'
wait_for 'Added'
typed 'clear; patchbay chat --model script:model.json'
wait_for '>'
typed 'What is left to do?'
wait_for 'Call it?'
typed y
wait_for 'cross one out'
typed 'Yes, the plants'
wait_for 'Call it? [y/t/a/' # the second one
typed y
wait_for 'one line now'
sleep 0.5 # until the prompt is back
shown | python3 terminal.py $columns 'patchbay chat: a tool of a server is asked about, called, and a file is edited' > chat.svg
