#!/usr/bin/env python3
"""Tests `sumac tune` as a user runs it: a file appears completely or not at all. The measured values are not judged."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SUMAC = sys.argv[1]


def tune(*words, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("SUMAC_TUNING_FILE", "HOME", "XDG_CONFIG_HOME")}
    return subprocess.run([SUMAC, "tune", *words], capture_output=True, text=True, timeout=250, check=False, env={**env, **environment})


class Tune(unittest.TestCase):
    def test_help_and_what_cannot_work(self):
        self.assertEqual(tune("--help").returncode, 0)
        for words, message in ((("--nonesuch",), "unexpected argument '--nonesuch'"), (("--ranks", "1"), "from 2 to 64"),
                               (("--ranks", "2x"), "from 2 to 64"), ((), "give --file PATH")):
            done = tune(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), done.stderr)
            self.assertIn(message, done.stderr)

    def test_it_writes_a_whole_file_by_rename(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "deep", "tuning.json")
            done = tune("--ranks", "2", SUMAC_TUNING_FILE=str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"choices written to {path}", done.stdout)
            whole = json.loads(path.read_text())
            self.assertEqual(whole["sumac_tuning"], 1)
            for choice in whole["content"]["choices"]:
                self.assertEqual(choice["ranks"], 2)
            self.assertEqual([entry.name for entry in path.parent.iterdir()], ["tuning.json"])

    def test_ctrl_c_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            tuning = subprocess.Popen([SUMAC, "tune", "--file", f"{folder}/tuning.json"], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, start_new_session=True)
            while not tuning.stdout.readline().startswith("measuring"):
                self.assertIsNone(tuning.poll())
            os.killpg(tuning.pid, signal.SIGINT)  # As a terminal does: the ranks get it too.
            _, err = tuning.communicate(timeout=60)
            self.assertEqual((tuning.returncode, err), (130, "sumac: tune: interrupted, nothing was written\n"))
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(ProcessLookupError):
                os.killpg(tuning.pid, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
