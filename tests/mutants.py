"""The books of tests/mutants.sh: the small crate, the sample of a seed, what became of each mutant, the table.

A mutant is known by its file, what is changed, and its place among equal changes of the file, not by its line: it
stays the same one when tests or lines are added around it.
"""

import collections
import difflib
import json
import pathlib
import random
import re
import shutil
import sys
import tomllib

DIR = pathlib.Path(sys.argv[1])
SEED = sys.argv[2]
CRATE = DIR / "crate"
SAMPLE = DIR / f"seed-{SEED}.sample"
RESULTS = DIR / f"seed-{SEED}.results"
DIFF = DIR / "left.diff"
# Which of the two passes the run in `mutants.out` was.
PASS = DIR / "pass"
MODULES = ["config", "domain", "prompts", "strategy", "wire"]
# What their tests read.
FILES = ["Cargo.lock", "config", "docs", "prompts", "proptest-regressions", "tests/loop_traces"]


def crate():
    """Files are copied with new times, so that what a stopped run had built of a mutant is built again."""
    shutil.rmtree(CRATE, ignore_errors=True)
    for name in FILES + [f"src/{module}" for module in MODULES]:
        source = pathlib.Path(name)
        target = CRATE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
        else:
            source = source if source.exists() else source.with_suffix(".rs")
            shutil.copyfile(source, target.with_suffix(source.suffix))
    (CRATE / "src/lib.rs").write_text("".join(f"pub mod {module};\n" for module in MODULES))

    whole = tomllib.loads(pathlib.Path("Cargo.toml").read_text())
    code = "\n".join(path.read_text() for path in (CRATE / "src").rglob("*.rs"))
    code = re.sub(r"//.*", "", code)
    lines = ["[package]"]
    lines += [f"{key} = {json.dumps(whole['package'][key])}" for key in ("name", "version", "edition")]
    lines += ["[lib]", "doctest = false", "[workspace]"]
    for table in ("dependencies", "dev-dependencies"):
        lines.append(f"[{table}]")
        for name, wanted in whole[table].items():
            if re.search(rf"(?<![\w:]){name.replace('-', '_')}::", code):
                lines.append(f"{name} = {inline(wanted)}")
    # The crate itself is built for every mutant, its dependencies once.
    lines += ["[profile.dev]", "debug = false", '[profile.dev.package."*"]', "opt-level = 1"]
    (CRATE / "Cargo.toml").write_text("\n".join(lines) + "\n")


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def every():
    """All mutants there are: key → name (with line and column)."""
    seen = collections.Counter()
    found = {}
    for mutant in json.loads((DIR / "all.json").read_text()):
        plain = re.sub(r"^([^:]+):\d+:\d+: ", r"\1: ", mutant["name"])
        seen[plain] += 1
        found[f"{plain} #{seen[plain]}"] = mutant["name"]
    return found


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def tried():
    """Key → what became of it, pass by pass: the first and all later ones."""
    became = collections.defaultdict(list)
    for line in lines(RESULTS):
        key, step, outcome, seconds = line.split("\t")
        became[key].append((step, outcome, float(seconds)))
    return became


def is_settled(results):
    """Survivors and endless ones of the quick pass are tried with all tests."""
    step, outcome, _ = results[-1]
    return outcome in ("caught", "unviable") or (step == "full" and outcome in ("missed", "timeout"))


def draw(count, mode):
    known = every()
    if mode == "--again":
        SAMPLE.unlink(missing_ok=True)
        RESULTS.unlink(missing_ok=True)
    drawn = lines(SAMPLE)
    gone = [key for key in drawn if key not in known]
    for key in gone:
        print(f"no longer there: {key}", file=sys.stderr)
    order = sorted(known)
    random.Random(SEED).shuffle(order)
    drawn += [key for key in order if key not in set(drawn)][: max(0, count - len(drawn))]
    SAMPLE.write_text("".join(key + "\n" for key in drawn))
    if mode == "--survivors":
        with RESULTS.open("a") as out:
            for key, results in tried().items():
                if key in known and results[-1][:2] == ("full", "missed"):
                    out.write(f"{key}\tagain\twaiting\t0\n")


def left(step):
    """A pattern for those that this pass has to try; an empty text if there are none."""
    PASS.write_text(step)
    known, became = every(), tried()
    names = []
    for key in lines(SAMPLE):
        results = became.get(key)
        if key in known and ((not results) if step == "quick" else (results and not is_settled(results))):
            names.append(known[key])
    if names:
        DIFF.write_text("".join(diffs(names)))
        print("^(" + "|".join(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name) for name in names) + ")$", end="")


def diffs(names):
    """The lines of these mutants as a change. The pattern alone does not keep out mutants that leave away a field
    of a struct (cargo-mutants 27.1 asks no filter of names about them), a diff does."""
    wanted = collections.defaultdict(set)
    for name in names:
        path, line, _ = name.split(":", 2)
        wanted[path].add(int(line))
    for path, numbers in wanted.items():
        after = (CRATE / path).read_text().splitlines(keepends=True)
        before = [text for number, text in enumerate(after, 1) if number not in numbers]
        yield from difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", n=0)


def take():
    """What a run has said, also one that was stopped, goes into the results."""
    said = DIR / "mutants.out" / "outcomes.json"
    if not said.exists():
        return
    keys = {name: key for key, name in every().items()}
    with RESULTS.open("a") as out:
        for outcome in json.loads(said.read_text())["outcomes"]:
            if outcome["scenario"] == "Baseline":
                continue
            name = outcome["scenario"]["Mutant"]["name"]
            summary = outcome["summary"].removesuffix("Mutant").lower()
            seconds = sum(phase["duration"] for phase in outcome["phase_results"])
            if name in keys and summary in ("caught", "missed", "timeout", "unviable"):
                out.write(f"{keys[name]}\t{PASS.read_text()}\t{summary}\t{seconds:.1f}\n")
    said.unlink()


def table():
    known, became = every(), tried()
    now, first = collections.Counter(), collections.Counter()
    survivors, endless, spent, runs = [], [], 0.0, 0
    for key in lines(SAMPLE):
        results = became.get(key, [])
        spent += sum(seconds for _, _, seconds in results)
        runs += sum(1 for step, _, _ in results if step != "again")
        if not results or not is_settled(results):
            now["open"] += 1
            continue
        outcome = results[-1][1]
        now[outcome] += 1
        settled = next(each for n, each in enumerate(results) if is_settled(results[: n + 1]))
        first[settled[1]] += 1
        if outcome == "missed":
            survivors.append(known.get(key, key))
        elif outcome == "timeout":
            endless.append(known.get(key, key))
    print(f"{len(known)} mutants, seed {SEED}, {len(lines(SAMPLE))} drawn; {spent / max(runs, 1):.0f} s each")
    print(f"{'':10} {'caught':>7} {'timeout':>8} {'missed':>7} {'unviable':>9} {'open':>10} {'kill rate':>10}")
    for title, count in (("at first", first), ("now", now)):
        viable = count["caught"] + count["timeout"] + count["missed"]
        rate = 100 * (count["caught"] + count["timeout"]) / max(viable, 1)
        print(
            f"{title:10} {count['caught']:>7} {count['timeout']:>8} {count['missed']:>7} {count['unviable']:>9}"
            f" {now['open']:>10} {rate:>8.1f} %"
        )
    for title, names in (("survived", survivors), ("did not end", endless)):
        for name in names:
            print(f"{title}: {name}")


match sys.argv[3:]:
    case ["crate"]:
        crate()
    case ["draw", count, *mode]:
        draw(int(count), mode[0] if mode else None)
    case ["left", step]:
        left(step)
    case ["take", *_]:
        take()
    case ["table"]:
        table()
