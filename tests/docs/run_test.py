#!/usr/bin/env python3
"""What run.py has to refuse: a documentation that is wrong must not pass."""

import tempfile
import unittest
from pathlib import Path

import run


def fence(info, *lines):
    return run.Fence("page.md", 7, info, list(lines))


class Outputs(unittest.TestCase):
    def test_every_line_has_to_be_there(self):
        self.assertIsNone(run.mismatch(["a", "b"], ["a", "b"], False))
        self.assertIn("expected: b", run.mismatch(["a", "b"], ["a"], False))
        self.assertIn("printed:  c", run.mismatch(["a", "b"], ["a", "c"], False))

    def test_what_is_printed_beside_them_is_a_fault_unless_it_may_go_on(self):
        self.assertIn("beside", run.mismatch(["a"], ["a", "b"], False))
        self.assertIsNone(run.mismatch(["a"], ["a", "b"], True))
        self.assertIsNone(run.mismatch(["a", "…"], ["a", "b"], False))

    def test_dots_stand_for_text_in_a_line_and_for_lines(self):
        self.assertIsNone(run.mismatch(["tsk_… is queued"], ["tsk_01 is queued"], False))
        self.assertIsNone(run.mismatch(["…", "c"], ["a", "b", "c"], False))
        self.assertIsNotNone(run.mismatch(["…", "c"], ["a", "b"], False))
        self.assertIsNotNone(run.mismatch(["a.c"], ["abc"], False))


class Marks(unittest.TestCase):
    def test_a_shell_block_is_run_or_says_why_not(self):
        self.assertIn("page.md:7", run.complaint(fence("sh"), None))
        self.assertIsNone(run.complaint(fence("sh skip=needs-a-model"), None))
        self.assertIsNone(run.complaint(fence("sh run exit=2"), None))

    def test_an_output_belongs_to_a_command(self):
        self.assertIsNotNone(run.complaint(fence("text output"), fence("sh skip=why")))
        self.assertIsNone(run.complaint(fence("text output"), fence("sh run")))

    def test_misspelt_marks_and_files_elsewhere_are_refused(self):
        self.assertIn("rum", run.complaint(fence("sh rum"), None))
        for name in ("/etc/x", "../x", "a/../../x"):
            self.assertIn("outside", run.complaint(fence(f"toml file={name}"), None))


class Commands(unittest.TestCase):
    def setUp(self):
        # A program with one command below another.
        self.folder = tempfile.TemporaryDirectory()
        self.binary = Path(self.folder.name) / "ccfleet"
        self.binary.write_text(
            '#!/bin/sh\ncase "$1" in\n'
            'task) printf "Commands:\\n  list  The newest\\n\\n" ;;\n'
            '*) printf "Commands:\\n  task  Tasks\\n\\n" ;;\nesac\n'
            '[ "$2" = list ] && printf "Options:\\n  --limit <N>\\n" || true\n'
        )
        self.binary.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def test_a_command_or_flag_that_is_not_there_is_found(self):
        self.assertIn("task lost", run.unknown_command(self.binary, "ccfleet task lost"))
        self.assertIn("talk", run.unknown_command(self.binary, "ccfleet talk"))


class Pages(unittest.TestCase):
    def test_a_command_that_fails_is_told_with_file_and_line(self):
        page = run.Page("page.md", Path("/bin/true"))
        self.addCleanup(page.close)
        with self.assertRaisesRegex(run.Wrong, "page.md:7: ended with 3, not 0"):
            page.follow([fence("sh run", "exit 3")])
        with self.assertRaisesRegex(run.Wrong, "page.md:7: expected: b"):
            page.follow([fence("sh run", "echo a"), fence("text output", "b")])
        self.assertEqual(page.follow([fence("sh run", "echo a"), fence("text output", "a")]), 1)


if __name__ == "__main__":
    unittest.main()
