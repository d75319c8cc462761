#!/usr/bin/env bash
# Does what the README says: its first command, a chat in a pipe, a second agent, and every grpcurl line as printed there. Needs
# grpcurl on the PATH, and the README's ports free.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
folder=$(mktemp -d)
up=
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

fail() {
  printf 'the tour fails: %s\n' "$*" >&2
  cat "$folder"/*.log >&2
  exit 1
}
# expect TEXT COMMAND: the command works and prints the text.
expect() {
  local text=$1 command=$2 out
  printf '\n$ %s\n' "$command"
  out=$(timeout 60 bash -c "$command" 2>&1) || fail "\`$command\` failed: $out"
  printf '%s\n' "$out"
  grep -qF -- "$text" <<<"$out" || fail "\`$command\` did not print \"$text\""
}
# here AGENT: the agent is online, within a minute.
here() {
  for _ in $(seq 300); do
    [ -z "$up" ] || kill -0 "$up" 2>/dev/null || fail "the first command has ended"
    agenthub agents show "$1" 2>/dev/null | grep -qi online && return
    sleep 0.2
  done
  fail "$1 did not come"
}
# line TEXT: the first line of the README that holds the text, without its comment.
line() { grep -m1 -F -- "$1" README.md | sed 's/ *#.*//'; }

first=$(line '-- up')
printf '$ %s\n' "$first"
AGENTHUB_DATA=$folder/data bash -c "exec $first" >"$folder/up.log" 2>&1 </dev/null &
up=$!
export PATH="$root/target/release:$PATH"
here agent_echo
here cortex

expect "hello there" 'echo "echo hello there" | agenthub chat'
expect "hi from a pipe" "$(line '| agenthub chat')"

second=$(line 'agenthub agent echo --name')
printf '\n$ %s\n' "$second"
bash -c "exec $second" >"$folder/echo2.log" 2>&1 &
here agent_echo2
expect "good morning" 'echo "ask agent_echo2 to echo good morning" | agenthub chat'

example=$(line '--example shout' | grep -o 'cargo run[^`]*')
printf '\n$ %s\n' "$example"
bash -c "exec $example" >"$folder/shout.log" 2>&1 &
for _ in $(seq 300); do # It is built first.
  agenthub agents show agent_shout 2>/dev/null | grep -qi online && break
  sleep 1
done
here agent_shout
expect "GOOD MORNING" 'echo "shout good morning" | agenthub chat'

export AGENTHUB_DATA=$folder/data
expect "is fine" "$(line 'agenthub agent check')"
for words in 'agenthub agent run' 'agenthub agent supervisor --name'; do
  agent=$(line "$words")
  printf '\n$ %s\n' "$agent"
  bash -c "exec $agent" >>"$folder/thinking.log" 2>&1 &
done
here agent_project
here agent_lead
expect "agent_project" "$(line 'agenthub publish --to agent_lead')"

run=$(line 'agenthub run examples/')
expect "all constraints are met" "$run"
asking=$(grep -m1 -o 'agenthub run examples/[^`]*--approval [^`]*' README.md)
printf '\n$ %s\n' "$asking"
waiting=$(bash -c "$asking --detach") || fail "\`$asking\` failed"
for _ in $(seq 100); do
  agenthub runs approve | grep -qF "$waiting" && break
  sleep 0.2
done
expect "approved" "agenthub runs approve $waiting"
expect "run $waiting is" "agenthub runs cancel $waiting"

wanted=('"mode":"app"' 'event: complete' '"state":"completed"')
mapfile -t lines < <(grep '^curl ' README.md)
[ "${#lines[@]}" -eq "${#wanted[@]}" ] || fail "the README has ${#lines[@]} curl lines, this script knows ${#wanted[@]}"
for i in "${!lines[@]}"; do
  expect "${wanted[$i]}" "${lines[$i]}"
done

wanted=("agenthub.AgentHub" "hello from grpcurl" '"success": true' "Echo: good day")
mapfile -t lines < <(grep '^grpcurl ' README.md)
[ "${#lines[@]}" -eq "${#wanted[@]}" ] || fail "the README has ${#lines[@]} grpcurl lines, this script knows ${#wanted[@]}"
for i in "${!lines[@]}"; do
  expect "${wanted[$i]}" "${lines[$i]}"
done

kill -TERM "$up"
wait "$up" || fail "the first command did not end well on SIGTERM: $?"
up=
printf '\nthe tour works\n'
