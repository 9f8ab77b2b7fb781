#!/usr/bin/env python3
"""Runs the commands that README.md and docs/ show, in the order in which they stand, as a reader would type them.

    tests/docs/run.py [--bin target/debug/ccfleet] [PAGE ...]

Nothing but the standard library. Each page gets a throw-away folder of its own, the scripted model of
`scenario.toml`, and its commands are really run. What a fence says behind its language tells what becomes of it:

    ```sh run             run; it has to end with 0
    ```sh run exit=5      run; it has to end with 5
    ```sh run server      run beside `ccfleet serve` and three simulated computers, started once a page
    ```sh background      started, and left running until the page ends
    ```sh skip=why        shown only; the reason stands there. A plain ```sh is refused
    ```text output        what the command above prints, from its first line to its last
    ```toml file=a.toml   a file that later commands use (any language)

Beside that every `ccfleet …` that a page names, also in the middle of a sentence, has to be a command that there is, with
flags that it has.

In an output `…` stands for anything within a line, and a line `…` for any number of lines. Addresses are written with
port 8080, though another one is used: no command here disturbs a server of yours.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent.parent
SHOWN = "127.0.0.1:8080"
# As computers in the game are told it.
IN_GAME = "192.168.1.10:8080"
# Seconds that one command may take, and that a background one may take until it says what it is to say.
PATIENCE = 60
MARKERS = {"run", "server", "background", "output"}


class Wrong(Exception):
    """What is wrong, and where."""


class Fence:
    """A fenced block: where it begins, its language, its markers, its lines."""

    def __init__(self, page, line, info, lines):
        self.page, self.line, self.lines = page, line, lines
        words = info.split(None, 1)
        self.language = words[0] if words else ""
        self.marks, self.values = set(), {}
        for word in words[1].split() if len(words) > 1 else []:
            key, is_value, value = word.partition("=")
            if is_value:
                self.values[key] = value
            else:
                self.marks.add(word)

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    def text(self):
        return "\n".join(self.lines)


def fences(page):
    """The fences of a page that stand at the beginning of a line, in order."""
    found, opened = [], None
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        mark = re.match(r"(```+)(.*)", line)
        if opened is None and mark:
            opened = (number, mark.group(1), mark.group(2).strip(), [])
        elif opened and line.strip() == opened[1]:
            found.append(Fence(page, opened[0], opened[2], opened[3]))
            opened = None
        elif opened:
            opened[3].append(line)
    if opened:
        raise Wrong(f"{page}:{opened[0]}: the fence is never closed")
    return found


def complaint(fence, before):
    """Why a fence cannot be used, or None."""
    unknown = (fence.marks - MARKERS) | (set(fence.values) - {"exit", "skip", "file"})
    if unknown:
        return f"{fence.place}: nobody knows the marker {sorted(unknown)[0]!r}"
    is_shell = fence.language in ("sh", "bash", "console")
    if is_shell and not fence.marks & {"run", "background"} and "skip" not in fence.values:
        return f"{fence.place}: say `run`, `background`, or why not (`skip=WHY`)"
    if "output" in fence.marks and not (before and before.marks & {"run", "background"}):
        return f"{fence.place}: an output needs the command that prints it right above"
    name = fence.values.get("file", "x")
    if name.startswith("/") or ".." in name.split("/"):
        return f"{fence.place}: {name} would lie outside of the throw-away folder"
    return None


def as_pattern(line):
    return re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")))


def mismatch(expected, got, may_go_on):
    """The first expected line that is not there, or None. `…` as a line skips lines."""
    at, skipping = 0, False
    for want in expected:
        if want.strip() == "…":
            skipping = True
            continue
        pattern = as_pattern(want)
        while skipping and at < len(got) and not pattern.fullmatch(got[at]):
            at += 1
        if at >= len(got) or not pattern.fullmatch(got[at]):
            return f"expected: {want}\nprinted:  {got[at] if at < len(got) else '(nothing more)'}"
        at, skipping = at + 1, False
    if at < len(got) and not skipping and not may_go_on:
        return f"printed beside what is expected: {got[at]}"
    return None


class Page:
    """One page being followed: its folder, its environment, what runs in the background."""

    def __init__(self, name, binary):
        self.name, self.address, self.started, self.computers = name, None, [], 0
        self.files = []
        self.folder = Path(tempfile.mkdtemp(prefix="ccfleet-docs-"))
        tools = self.folder / ".bin"
        tools.mkdir()
        (tools / "ccfleet").symlink_to(binary)
        # `cargo run --release -- ARGS` is ccfleet too; it has been built.
        shim = '#!/bin/sh\n[ "$1" = run ] || { echo "cargo $1 is not run here" >&2; exit 9; }\n'
        shim += 'while [ "$1" != -- ]; do shift; done; shift\nexec ccfleet "$@"\n'
        (tools / "cargo").write_text(shim)
        (tools / "cargo").chmod(0o755)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CCFLEET")}
        self.env.update(
            PATH=f"{tools}:{os.environ['PATH']}",
            HOME=str(self.folder),
            LC_ALL="C.UTF-8",
            CCFLEET__SERVER__BIND="127.0.0.1:0",
            CCFLEET__MODELS__PLANNER__PROVIDER="scripted",
            CCFLEET__MODELS__PLANNER__SCRIPT=str(ROOT / "tests/docs/scenario.toml"),
            # Nobody listens there, so that `demo` finds no model and is the same everywhere.
            CCFLEET__MODELS__PLANNER__BASE_URL=f"http://127.0.0.1:{unused_port()}",
        )

    def close(self):
        for process, _ in reversed(self.started):
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, fence):
        path = self.folder / fence.values["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.really(fence.text()) + "\n")
        self.files.append(fence)

    def really(self, text):
        """What a page shows, with the address of the server that was started for it."""
        for shown in (SHOWN, IN_GAME):
            text = text.replace(shown, self.address or shown)
        return text

    def as_shown(self, text):
        """What was printed, as a page shows it."""
        if self.address:
            text = text.replace(self.address, SHOWN)
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
        return [line.rstrip() for line in text.rstrip("\n").split("\n")]

    def spawn(self, fence, **pipes):
        command = self.really(fence.text())
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=self.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True, **pipes,
        )

    def run(self, fence, expected):
        process = self.spawn(fence, stdout=subprocess.PIPE)
        try:
            printed, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            end(process)
            raise Wrong(f"{fence.place}: not over after {PATIENCE} s:\n{fence.text()}") from None
        # What it left running in its own background ends with it.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        lines = self.as_shown(printed.decode(errors="replace"))
        whole = "\n".join(lines)
        wanted = int(fence.values.get("exit", 0))
        if process.returncode != wanted:
            said = f"ended with {process.returncode}, not {wanted}"
            raise Wrong(f"{fence.place}: {said}:\n{fence.text()}\n--- printed:\n{whole}")
        if expected:
            wrong = mismatch(expected.lines, lines, may_go_on=False)
            if wrong:
                raise Wrong(f"{expected.place}: {wrong}\n--- printed by {fence.place}:\n{whole}")

    def begin(self, fence, expected):
        """Starts a command and waits until it has printed what it is to print."""
        log = self.folder / f".log-{len(self.started)}"
        with log.open("wb") as out:
            process = self.spawn(fence, stdout=out)
        self.started.append((process, log))
        wrong, deadline = "", time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            over = process.poll() is not None
            printed = log.read_text(errors="replace")
            self.note_address(printed)
            wrong = mismatch(expected.lines, self.as_shown(printed), may_go_on=True) if expected else None
            listens = "ccfleet serve" not in fence.text() or self.address and " listens on http://" in printed
            if wrong is None and listens and not over:
                return self.await_computers(fence)
            if over:
                break
            time.sleep(0.05)
        place = expected.place if expected else fence.place
        wrong = wrong or "it ended, or never said that it listens"
        raise Wrong(f"{place}: {wrong}\n--- printed by {fence.place}:\n{log.read_text(errors='replace')}")

    def await_computers(self, fence):
        """Simulated computers are connected a moment before they have said what they can do."""
        sims = re.search(r"ccfleet sim\b(?:.*--count (\d+))?", fence.text())
        if not sims:
            return
        self.computers += int(sims.group(1) or 1)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with urlopen(f"http://{self.address}/api/v1/computers", timeout=PATIENCE) as answer:
                known = json.load(answer)["items"]
            if sum(bool(one["tools"]) for one in known) >= self.computers:
                return
            time.sleep(0.05)
        raise Wrong(f"{fence.place}: the simulated computers do not come")

    def note_address(self, printed):
        listens = re.search(r"listens on http://([0-9.]+:[0-9]+)\n(?:.*\n)*.*try one", printed)
        if listens and not self.address:
            self.address = listens.group(1)
            self.env["CCFLEET_SERVER"] = f"http://{self.address}"
            # Those that name the address were written before it was known.
            for fence in [f for f in self.files if self.really(f.text()) != f.text()]:
                self.write(fence)

    def need_server(self):
        if self.address:
            return
        self.begin(Fence(self.name, 0, "sh background", ["exec ccfleet serve"]), None)
        sims = Fence(self.name, 0, "sh background", [f"exec ccfleet sim --server ws://{SHOWN}/ws --count 3"])
        self.begin(sims, None)

    def follow(self, blocks):
        """Does what the blocks say; tells how many commands were run."""
        count = 0
        for at, fence in enumerate(blocks):
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            expected = after if after and "output" in after.marks else None
            if "file" in fence.values:
                self.write(fence)
            if "server" in fence.marks:
                self.need_server()
            if "background" in fence.marks:
                self.begin(fence, expected)
            elif "run" in fence.marks:
                self.run(fence, expected)
            count += bool(fence.marks & {"run", "background"})
        return count


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end(process):
    """Ends a command and all that it started: in order if it can, else at once."""
    for how, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, how)
            process.wait(patience)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


@cache
def help_of(binary, words):
    """What `ccfleet WORDS --help` says."""
    asked = [binary, *words, "--help"]
    return subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def commands_below(text):
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
    return set(re.findall(r"^  ([a-z]+)", listed.group(1), re.M)) if listed else set()


def unknown_command(binary, command):
    """What is wrong with a `ccfleet …` that is written somewhere, or None."""
    words, path = command.split()[1:], ()
    for word in words:
        below = commands_below(help_of(binary, path))
        names = word.strip(",.").split("|")
        if not below or not re.fullmatch(r"[a-z|]+", "|".join(names)):
            break
        wrong = [name for name in names if name not in below]
        # `ccfleet fleet miner-1`: some commands have both, words of their own and commands below.
        if wrong and path not in {("fleet",)}:
            return f"there is no `ccfleet {' '.join(path + (wrong[0],))}`"
        if wrong or len(names) > 1:
            break
        path += (names[0],)
    text = help_of(binary, path)
    for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", " " + " ".join(words)):
        if not re.search(rf"{flag}(?![a-z-])", text):
            return f"`ccfleet {' '.join(path)}` has no {flag}"
    return None


def named_commands(name):
    """Every `ccfleet …` in the code of a page, with its line."""
    fence, is_output = None, False
    for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
        mark = re.match(r"(```+)(\S*)", line)
        if mark and fence in (None, mark.group(1)):
            # What is printed is no command, though it may begin with the program's name.
            fence, is_output = (None, False) if fence else (mark.group(1), mark.group(2) == "text")
            continue
        if is_output:
            continue
        is_code = fence or line.startswith("    ")
        for code in [line] if is_code else re.findall(r"`([^`]+)`", line):
            code = re.sub(r"^(\s*[A-Z_]+=\S*)+", "", code)
            code = re.split(r"\s#|  +(?=[a-zA-Z])| \| |;|&&|\)|>", code.strip())[0]
            if re.match(r"(\$ )?ccfleet [a-z-]", code):
                yield number, code.removeprefix("$ ")


def check(name, binary):
    """Follows one page. Tells how many commands were run and what is wrong."""
    for number, command in named_commands(name):
        wrong = unknown_command(binary, command)
        if wrong:
            return 0, f"{name}:{number}: {wrong}: {command}"
    blocks = fences(name)
    for at, fence in enumerate(blocks):
        wrong = complaint(fence, blocks[at - 1] if at else None)
        if wrong:
            return 0, wrong
    if not any(fence.marks for fence in blocks):
        return 0, None
    page = Page(name, binary)
    try:
        return page.follow(blocks), None
    except Wrong as wrong:
        return 0, str(wrong)
    finally:
        page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "target/debug/ccfleet", type=Path)
    parser.add_argument("pages", nargs="*", help="such as docs/tools.md; all if none is named")
    args = parser.parse_args()
    if not args.bin.exists():
        sys.exit(f"{args.bin} is not there: cargo build")
    pages = args.pages or ["README.md"] + sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda name: check(name, args.bin.resolve()), pages))
    faults = [wrong for _, wrong in results if wrong]
    for wrong in faults:
        print(f"{wrong}\n", file=sys.stderr)
    commands = sum(count for count, _ in results)
    print(f"{commands} command blocks of {len(pages)} pages were run in {time.monotonic() - began:.0f} s; {len(faults)} faults")
    sys.exit(1 if faults or not commands else 0)


if __name__ == "__main__":
    main()
