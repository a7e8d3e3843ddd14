#!/usr/bin/env python3
"""demo.py in the real lab: one case in the quick form, what it writes, and that nothing stays behind. No timing is judged."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from demolib import testing
from demolib.lab import start as start_process

BUILD, CASE = Path(sys.argv[1]), "barrier-16h-500us"
DEMO = [sys.executable, "-B", str(Path(__file__).with_name("demo.py")), "--build", str(BUILD)]


def lab_answers(pid):
    """Whether the lab that the demo of this pid names is up."""
    return subprocess.run([BUILD / "bin" / "sumac", "lab", "status", "--name", f"demo-16h-500us-{pid}"], capture_output=True,
                          check=False, timeout=60).returncode == 0


class Demo(unittest.TestCase):
    def start(self, folder, *words):
        return start_process([*DEMO, "--out", f"{folder}/demo.json", "--quick", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)

    def test_one_case_fills_its_row_and_takes_the_lab_down(self):
        with tempfile.TemporaryDirectory() as folder:
            demo = self.start(folder, "--only", CASE)
            out, err = demo.communicate(timeout=200)
            self.assertIn("demo-16h-500us run 1: bare epoll", out, err)
            (row,) = json.loads(Path(folder, "demo.json").read_text())
            self.assertEqual(demo.returncode, 0, out)
            self.assertEqual((row["case"], row["unit"], row["limit"]), (CASE, "ms", 2.0))
            self.assertNotIn("verdict", row)
            self.assertEqual(row["failures"], {}, out)
            for number in (row["bare"], row["peers"]["Open MPI default"], row["peers"]["Open MPI barrier 1"]):
                self.assertGreater(number, 2.0, "nobody beats the limit")
            text = Path(folder, "demo.txt").read_text()
            self.assertRegex(text, "(?m)^Small operations were added up by the kernels|^The nodes were processes.*none here \\(.+\\)|^SUMAC_NODE_HOP=")
            for words in (f"| {CASE} |", "| times faster |", "no program can be faster than the wire's limit"):
                self.assertIn(words, text)
            self.assertFalse(lab_answers(demo.pid))

    def test_ctrl_c_takes_the_lab_down(self):
        with tempfile.TemporaryDirectory() as folder:
            demo = self.start(folder, "--only", CASE)
            while "bare" not in demo.stdout.readline():  # the lab is up and a column runs
                self.assertIsNone(demo.poll())
            self.assertTrue(lab_answers(demo.pid))
            demo.send_signal(signal.SIGINT)
            _, err = demo.communicate(timeout=100)
            self.assertEqual((demo.returncode, err), (1, "demo: interrupted; the lab is down, nothing was written\n"))
            self.assertFalse(lab_answers(demo.pid))
            self.assertFalse(Path(folder, "demo.json").exists())

    def test_what_cannot_work_is_one_clear_line(self):
        for words, message in ((("--only", "nonesuch"), "no case 'nonesuch'"), (("--runs", "0"), "--runs must be at least 1"),
                               (("--build", "/nonesuch"), "/nonesuch/bin/sumac is missing: build it first")):
            demo = self.start("/nonesuch", *words)
            _, err = demo.communicate(timeout=60)
            self.assertEqual((demo.returncode, err.count("\n")), (1, 1), err)
            self.assertIn(message, err)


if __name__ == "__main__":
    testing.main(BUILD)
