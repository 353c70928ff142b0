#!/usr/bin/env bash
# record.sh PROGRAM NODE_MODULES: types the commands below on a real terminal, with an empty home and the npm package
# @modelcontextprotocol/server-filesystem from NODE_MODULES, and writes what the screen shows to terminal.svg.
# Record it again when the commands print something else. Needs tmux, python3 and node.
set -euo pipefail
program=$(readlink -f "$1") modules=$(readlink -f "$2")
cd "$(dirname "$(readlink -f "$0")")"

home=$(mktemp -d /tmp/XXX) # as long as /home/me, which the picture shows instead
terminal() { tmux -L "record-$$" -f /dev/null "$@"; }
trap 'terminal kill-server 2> /dev/null; rm -rf "$home"' EXIT
mkdir -p "$home/bin" "$home/notes" "$home/.claude"
ln -s "$program" "$home/bin/patchbay"
ln -s "$modules" "$home/node_modules" # where npx looks first
echo 'water the plants' > "$home/notes/todo.md"
cat > "$home/.claude/settings.json" << 'END'
{
  "permissions": {
    "deny": ["mcp__files__write_file(path: ~/notes/**)"]
  }
}
END

columns=108
prompt='$ '
terminal new-session -d -x $columns -y 200 -c "$home" \
  "env -i HISTFILE= HOME='$home' TERM=xterm-256color LANG=C.UTF-8 PATH='$home/bin:$PATH' PS1='$prompt' bash --norc --noprofile"
terminal set-option -g status off
shown() { terminal capture-pane -e -p -t 0 | sed -e "s|$home|/home/me|g"; }
# The command is done when the last line of the screen is an empty prompt again.
wait_for_prompt() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(terminal capture-pane -p -t 0 | grep -v '^$' | tail -n 1) == "${prompt% }" ]] && return
    sleep 0.1
  done
  echo "no prompt came back:" >&2
  shown >&2
  return 1
}
wait_for_prompt
while IFS= read -r typed; do
  terminal send-keys -t 0 -l "$typed"
  terminal send-keys -t 0 Enter
  sleep 0.3 # until the typed line is on the screen
  wait_for_prompt
done << 'END'
patchbay add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
patchbay tools
patchbay call files/read_text_file path=~/notes/todo.md
patchbay why files/write_file path=~/notes/todo.md
END
shown | python3 terminal.py $columns 'patchbay add, tools, call and why on a terminal' > terminal.svg
