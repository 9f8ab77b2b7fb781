#!/usr/bin/env bash
# Mutation test of src/domain and src/strategy: tests/mutants.sh [--sample N] [--seed S] [--dir DIR] [--again | --survivors]
#
#   --sample N     how many mutants of all are tried (200)
#   --seed S       which ones (1); the same seed and sources give the same ones, a larger N adds to them
#   --dir DIR      where the small crate, its build and the results are (target/mutants)
#   --again        draws the sample anew and forgets what was tried of this seed
#   --survivors    tries again those that survived, after tests were written
#   --table        tries nothing, prints the table
#
# A build of the whole program for each mutant takes minutes. Both folders are pure, so a small crate is made of them and of
# the modules below them that they use, and cargo-mutants runs in it; tests above (store, actors, sim, tests/suite) do
# not take part, and the rate is without what they would catch. Each mutant is first tried with few cases of the
# property tests and without the slowest tests; what survives that, or does not end, meets all tests as they are.
# What has been tried is kept, so that the same command goes on after it was stopped.
set -uo pipefail
cd "$(dirname "$0")/.."

sample=200 seed=1 dir=target/mutants mode=
while [ $# -gt 0 ]; do
  case "$1" in
    --sample) sample="$2"; shift ;;
    --seed) seed="$2"; shift ;;
    --dir) dir="$2"; shift ;;
    --again | --survivors | --table) mode="${1#--}" ;;
    --help | -h) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit ;;
    *) echo "there is no option $1; --help tells them" >&2; exit 2 ;;
  esac
  shift
done
mkdir -p "$dir"
dir="$(cd "$dir" && pwd)"
crate="$dir/crate" book=(python3 -B tests/mutants.py "$dir" "$seed")

if [ "$mode" = table ]; then
  exec "${book[@]}" table
fi
command -v cargo-mutants >/dev/null || cargo install --quiet --locked cargo-mutants || exit

# A run that was stopped may have left a mutated file behind. What it had tried counts.
"${book[@]}" take || exit
python3 -B tests/mutants.py "$dir" "$seed" crate || exit

# The first failing test ends a run: that option of the test programs is unstable.
export CARGO_TARGET_DIR="$dir/target" RUSTFLAGS=-Awarnings RUSTC_BOOTSTRAP=1
# No test writes into the crate; what a failing property test would be reduced to is of no use here.
export INSTA_UPDATE=no INSTA_WORKSPACE_ROOT="$crate" PROPTEST_MAX_SHRINK_ITERS=0
mutants() {
  cargo mutants --dir "$crate" --no-config --file 'src/domain/**' --file 'src/strategy/**' "$@"
}

mutants --list --json >"$dir/all.json" || exit
"${book[@]}" draw "$sample" ${mode:+"--$mode"} || exit

# One pass over what is left of the sample; the arguments go to the tests.
pass() {
  local left
  left="$("${book[@]}" left "$1")" || return
  [ -n "$left" ] || return 0
  mutants --in-place --no-times --output "$dir" --minimum-test-timeout "$2" \
    --re "$left" --in-diff "$dir/left.diff" -- --lib -- -Z unstable-options --fail-fast "${@:3}" >&2
  # 2: some survived; 3: some did not end. Both are told in the table.
  local code=$?
  "${book[@]}" take "$1" || return
  case $code in 0 | 2 | 3) ;; *) return $code ;; esac
}
slow=(config:: any_model_and_any_computer any_plan_and_any_computer a_compaction_never_loses each_prompt_up_to_its_tail)
PROPTEST_CASES=4 pass quick 60 "${slow[@]/#/--skip=}" &&
  pass full 300 || exit
"${book[@]}" table
