#!/usr/bin/env bash
# What takes too long for .ci/run: tests/long-runs.sh [--dir DIR] [--short] [--again] [PART...]
#
#   soak        2,000 computers with tasks for 30 minutes; the server's memory is not to grow after minute 5
#   fuzz        ten minutes for each target of fuzz/ (installs cargo-fuzz if it is missing)
#   kills       ccfleet torture with 1,000 kills
#   eval        the full evaluation with the scripted model
#   mutants     the mutation test of src/domain and src/strategy, 200 mutants of seed 1 (goes on where tests/mutants.sh was stopped)
#   benches     call_path, journal, http_calls, tasks, gateway; each is a part too, by its name
#
# Without a PART: all of them. A part that has ended is not run again, so that the same command goes on after it was stopped;
# --again runs the named parts anew. --short runs each part for minutes at most: to see that they work, not for figures.
# What they print stays in DIR (target/long-runs): PART.log, and PART.end with the exit code, the seconds and the day.
# The last thing printed is a table of all parts; the exit code is 1 if one of them failed.
set -uo pipefail
cd "$(dirname "$0")/.."

dir=target/long-runs short= again= wanted=()
benches=(call_path journal http_calls tasks gateway)
fuzzers=(frame_decoder chunk_assembler directive_parser)
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) dir="$2"; shift ;;
    --short) short=1 ;;
    --again) again=1 ;;
    --help | -h) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit ;;
    fuzz) wanted+=("${fuzzers[@]/#/fuzz-}") ;;
    benches) wanted+=("${benches[@]}") ;;
    soak | kills | eval | mutants | call_path | journal | http_calls | tasks | gateway | fuzz-*) wanted+=("$1") ;;
    *) echo "no part is called $1; --help tells them" >&2; exit 2 ;;
  esac
  shift
done
all=("${benches[@]}" soak kills eval mutants "${fuzzers[@]/#/fuzz-}")
[ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")
[ -z "$short" ] || dir="$dir/short"
mkdir -p "$dir"
dir="$(cd "$dir" && pwd)"

# Built outside of the time that a part takes.
bench() { cargo bench --quiet --bench "$1" -- "${@:2}" --json; }
binary() { cargo build --quiet --release --bin ccfleet && echo target/release/ccfleet; }
peers() { CCFLEET_PEERS="$(benches/peers/install.sh)" && export CCFLEET_PEERS; }

run() {
  local program
  case "$1" in
    soak) bench tasks soak --minutes "$([ "$short" ] && echo 2 || echo 30)" ;;
    kills)
      program="$(binary)" || return
      "$program" torture --tasks "$([ "$short" ] && echo 6 || echo 200)" --kills "$([ "$short" ] && echo 8 || echo 1000)" \
        --seed 1 --json --dir "$dir/kills" ;;
    eval)
      program="$(binary)" || return
      if [ "$short" ]; then "$program" eval --tasks 'fix-*' --seeds 1 --json; else "$program" eval --json; fi ;;
    mutants) tests/mutants.sh --seed 1 --sample "$([ "$short" ] && echo 5 || echo 200)" --dir "$dir/mutants" ${again:+--again} ;;
    http_calls) peers && bench http_calls ${short:+--quick} ;;
    tasks) peers && bench tasks ${short:+--quick} ;;
    call_path) bench call_path ${short:+--quick} ;;
    journal) bench journal ${short:+--tasks 2 --appends 640} ;;
    gateway) bench gateway ;;
    fuzz-*)
      local target="${1#fuzz-}"
      command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz || return
      mkdir -p "fuzz/corpus/$target"
      RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$([ "$short" ] && echo 20 || echo 600)" ;;
  esac
}

# A soak whose memory grows has failed, whatever its exit code.
judged() {
  [ "$1" != soak ] || ! grep -q '"grows":true' "$dir/soak.log"
}

for part in "${wanted[@]}"; do
  if [ -e "$dir/$part.end" ] && [ -z "$again" ]; then
    echo "$part has been run; --again runs it anew" >&2
    continue
  fi
  rm -f "$dir/$part.end"
  # Torture wants a folder of its own.
  [ "$part" != kills ] || rm -rf "${dir:?}/kills"
  echo "== $part, $(date -u '+%F %H:%M') UTC" >&2
  begun=$SECONDS
  run "$part" >"$dir/$part.log" 2>"$dir/$part.err"
  code=$?
  # Stopped by hand: it is run again the next time.
  [ $code -lt 129 ] || exit $code
  [ $code -ne 0 ] || judged "$part" || code=1
  [ $code -eq 0 ] || tail -n 5 "$dir/$part.err" >&2
  printf '%s %s %s\n' "$code" "$((SECONDS - begun))" "$(date -u +%F)" >"$dir/$part.end"
done

# What a part says of itself, in a line.
figures() {
  case "$1" in
    mutants) awk '$1 == "now" { print "caught " $2 ", endless " $3 ", survived " $4 ", kill rate " $7 " %" }' "$dir/$1.log" ;;
    fuzz-*) grep -ho 'stat::number_of_executed_units.*\|Done [0-9]* runs.*' "$dir/$1.err" | tail -n 1 ;;
    kills | eval | soak) tail -n 1 "$dir/$1.log" | python3 -c '
import json, sys
told = json.load(sys.stdin)
told = told.get("soak", told)
if "rows" in told:
    print(", ".join("%s %.0f %%" % (row["strategy"], 100 * row["pass_1"]) for row in told["rows"]))
    sys.exit()
keys = ("kills", "lost_tasks", "duplicate_effects", "lost_calls", "wrong_results", "unexplained_unknown", "journal_damage",
        "replays_differ", "computers", "tasks", "mib_first_third", "mib_last_third", "growth")
plain = lambda v: f"{v:.3g}" if isinstance(v, float) else str(v)
print(", ".join(f"{key} {plain(told[key])}" for key in keys if isinstance(told.get(key), (int, float))))' 2>/dev/null ;;
    *) echo "see $1.log" ;;
  esac
}

failed=0
printf '\n%-22s %-8s %8s  %-10s  %s\n' part ended seconds day figures
for part in "${all[@]}"; do
  if read -r code seconds day 2>/dev/null <"$dir/$part.end"; then
    [ "$code" = 0 ] && state=well || { state="code $code"; failed=1; }
    printf '%-22s %-8s %8s  %-10s  %s\n' "$part" "$state" "$seconds" "$day" "$(figures "$part")"
  else
    printf '%-22s %-8s\n' "$part" "not run"
  fi
done
exit $failed
