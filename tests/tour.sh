#!/usr/bin/env bash
# Runs the README's commands: the first one, a chat in a pipe, a second agent, the team in Markdown, and every grpcurl line without TLS as printed
# there; then, without a hub, those of docs/SOPS.md. Needs grpcurl on the PATH, and the README's ports free.
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
  out=$(timeout 90 bash -c "$command" 2>&1) || fail "\`$command\` failed: $out"
  printf '%s\n' "$out"
  grep -qF -- "$text" <<<"$out" || fail "\`$command\` did not print \"$text\""
}
# in_part TEXT COMMAND: the command prints the text and leaves with 3, as without a model nobody checked that it was what was asked.
in_part() { expect "$1" "$2; [ \$? = 3 ]"; }
# here AGENT: the agent is online, within a minute.
here() {
  for _ in $(seq 300); do
    [ -z "$up" ] || kill -0 "$up" 2>/dev/null || fail "the first command has ended"
    agenthub agents show "$1" 2>/dev/null | grep -qi online && return
    sleep 0.2
  done
  fail "$1 did not come"
}
# page FILE: writes the files of a page and runs its commands, in order, except those that need a key.
page() {
  local line kind='' file=''
  while IFS= read -r line <&3; do
    case $line in
    '```markdown file='*)
      kind=file file=${line#*file=}
      mkdir -p "$(dirname "$file")"
      : >"$file"
      ;;
    '```sh') kind=sh ;;
    '```'*) if [ -z "$kind" ]; then kind=other; else kind=; fi ;;
    *)
      case $kind:$line in
      file:*) printf '%s\n' "$line" >>"$file" ;;
      sh:*'# needs a key') ;;
      sh:'agenthub sop up '*) stays "$line" editor ;;
      # Nobody can tell of some rules without a model: 3.
      sh:'agenthub sop report '* | *'agenthub sop ask '*) expect "" "$line || [ \$? = 3 ]" ;;
      sh:*) expect "" "$line" ;;
      esac
      ;;
    esac
  done 3<"$1"
}
# stays COMMAND AGENT: the command brings the agent online, and ends successfully on SIGTERM.
stays() {
  printf '\n$ %s\n' "$1"
  bash -c "exec $1" >"$folder/stays.log" 2>&1 </dev/null &
  up=$!
  here "$2"
  kill -TERM "$up"
  wait "$up" || fail "\`$1\` did not end well on SIGTERM: $?"
  up=
}
# line TEXT: the first line of the README that contains the text, without its comment.
line() { grep -m1 -F -- "$1" README.md | sed 's/ *#.*//'; }

first=$(line '-- up')
printf '$ %s\n' "$first"
AGENTHUB_DATA=$folder/data bash -c "exec $first" >"$folder/up.log" 2>&1 </dev/null &
up=$!
export PATH="$root/target/release:$PATH"
here agent_echo
here cortex

expect "hello there" "echo 'echo \"hello there\"' | agenthub chat"
in_part "no language model checked" 'echo "echo hello there" | agenthub chat'
expect "hi from a pipe" "$(line '| agenthub chat')"

second=$(line 'agenthub agent echo --name')
printf '\n$ %s\n' "$second"
bash -c "exec $second" >"$folder/echo2.log" 2>&1 &
here agent_echo2
expect "good morning" "echo 'ask agent_echo2 to echo \"good morning\"' | agenthub chat"

example=$(line '--example shout' | grep -o 'cargo run[^`]*')
printf '\n$ %s\n' "$example"
bash -c "exec $example" >"$folder/shout.log" 2>&1 &
for _ in $(seq 600); do # It is built first.
  agenthub agents show agent_shout 2>/dev/null | grep -qi online && break
  sleep 1
done
here agent_shout
expect "GOOD MORNING" "echo 'shout \"good morning\"' | agenthub chat"

export AGENTHUB_DATA=$folder/data
expect "has no errors" "$(line 'agenthub agent check')"
for words in 'agenthub agent run' 'agenthub agent supervisor --name'; do
  agent=$(line "$words")
  printf '\n$ %s\n' "$agent"
  bash -c "exec $agent" >>"$folder/thinking.log" 2>&1 &
done
here agent_project
here agent_lead
in_part "agent_project" "$(line 'agenthub publish --to agent_lead')"

expect "sops" "$(line 'agenthub sop check examples/sops')"
expect "on disk before its sender is told so" "$(line 'agenthub sop ask examples/sops') || [ \$? = 3 ]"
# Exit code 3: what takes a model is not checked.
expect "You MUST ask researcher" "$(line 'agenthub sop report') || [ \$? = 3 ]"

run=$(line 'agenthub run examples/')
# Exit code 3: the best result without a model.
expect "4 of 6 criteria are met" "$run || [ \$? = 3 ]"
asking=$(grep -m1 -o 'agenthub run examples/[^`]*--approval [^`]*' README.md)
printf '\n$ %s\n' "$asking"
waiting=$(bash -c "$asking --detach") || fail "\`$asking\` failed"
for _ in $(seq 100); do
  agenthub runs approve | grep -qF "$waiting" && break
  sleep 0.2
done
expect "approved" "agenthub runs approve $waiting"
expect "run $waiting is" "agenthub runs cancel $waiting"

wanted=('"supportedInterfaces"' 'Echo: good day' '"mode":"app"' 'event: complete' '"state":"completed"')
mapfile -t lines < <(grep '^curl -s' README.md)
[ "${#lines[@]}" -eq "${#wanted[@]}" ] || fail "the README has ${#lines[@]} curl lines, this script knows ${#wanted[@]}"
for i in "${!lines[@]}"; do
  expect "${wanted[$i]}" "${lines[$i]}"
done

wanted=("agenthub.AgentHub" "hello from grpcurl" '"success": true' "Echo: good day")
mapfile -t lines < <(grep '^grpcurl -plaintext ' README.md)
[ "${#lines[@]}" -eq "${#wanted[@]}" ] || fail "the README has ${#lines[@]} grpcurl lines, this script knows ${#wanted[@]}"
for i in "${!lines[@]}"; do
  expect "${wanted[$i]}" "${lines[$i]}"
done

kill -TERM "$up"
wait "$up" || fail "the first command did not end well on SIGTERM: $?"
up=

unset AGENTHUB_DATA
mkdir "$folder/examples"
cp -r examples/sops "$folder/examples"
cd "$folder"
page "$root/docs/SOPS.md"
printf '\nthe tour works\n'
