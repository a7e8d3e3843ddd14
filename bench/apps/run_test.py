"""The command line of `make bench-apps`, without running a program."""

import subprocess
import sys
import unittest
from pathlib import Path

from .cases import CASES

RUN = [sys.executable, "-B", str(Path(__file__).with_name("run.py"))]


def run(*words):
    return subprocess.run([*RUN, *words], capture_output=True, text=True, timeout=60, check=False)


class Run(unittest.TestCase):
    def test_the_list_names_what_must_hold(self):
        listed = run("--list")
        self.assertEqual((listed.returncode, len(listed.stdout.splitlines())), (0, len(CASES)))
        self.assertRegex(listed.stdout, r"petsc-cg-16h-500us +>= 2\.10 x")
        self.assertEqual(len(run("--list", "--app", "petsc-*", "--place", "2r").stdout.splitlines()), 3)

    def test_what_cannot_work_is_one_clear_line(self):
        for words, message in ((("--app", "nonesuch"), "no case 'nonesuch'"), (("--place", "17h"), "no case '17h'"), (("--pairs", "0"), "at least 1"),
                               (("--build", "/nonesuch"), "/nonesuch/bin/sumac is missing: build it first")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
