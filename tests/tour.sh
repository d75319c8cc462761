#!/usr/bin/env bash
# Does what the README says with the binary given as the argument: the first command, a chat in a pipe, a second agent, and every
# grpcurl line as printed there. Needs grpcurl on the PATH, and the README's ports free.
set -euo pipefail
binary=$(realpath "$1")
readme=$(realpath "$(dirname "$0")/../README.md")
folder=$(mktemp -d)
mkdir "$folder/bin"
ln -s "$binary" "$folder/bin/agenthub"
export PATH="$folder/bin:$PATH"
cd "$folder"
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

fail() { printf 'the tour fails: %s\n' "$*" >&2; cat up.log >&2; exit 1; }
# expect TEXT COMMAND...: the command works and prints the text.
expect() {
  local text=$1 out
  shift
  printf '\n$ %s\n' "$*"
  out=$(timeout 60 bash -c "$*" 2>&1) || fail "\`$*\` failed: $out"
  printf '%s\n' "$out"
  grep -qF -- "$text" <<<"$out" || fail "\`$*\` did not print \"$text\""
}

agenthub up >up.log 2>&1 </dev/null &
up=$!
for _ in $(seq 100); do
  kill -0 "$up" 2>/dev/null || fail "up has ended"
  agenthub agents show agent_echo 2>/dev/null | grep -qi online && break
  sleep 0.1
done

expect "hello there" 'echo "echo hello there" | agenthub chat'
expect "hi from a pipe" "$(grep -F '| agenthub chat' "$readme")"

agenthub agent echo --name agent_echo2 >echo2.log 2>&1 &
for _ in $(seq 100); do
  agenthub agents show agent_echo2 2>/dev/null | grep -qi online && break
  sleep 0.1
done
expect "good morning" 'echo "ask agent_echo2 to echo good morning" | agenthub chat'

wanted=("agenthub.AgentHub" "hello from grpcurl" '"success": true' "Echo: good day")
mapfile -t lines < <(grep '^grpcurl ' "$readme")
[ "${#lines[@]}" -eq "${#wanted[@]}" ] || fail "the README has ${#lines[@]} grpcurl lines, this script knows ${#wanted[@]}"
for i in "${!lines[@]}"; do
  expect "${wanted[$i]}" "${lines[$i]}"
done

kill -TERM "$up"
wait "$up" || fail "up did not end well on SIGTERM: $?"
echo "the tour works"
