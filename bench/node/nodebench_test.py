#!/usr/bin/env python3
"""The programs of bench/node over loopback, briefly: results are right, JSON has its fields, nothing stays behind. No speed."""
import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from harness import processes  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(sys.argv[1])
RUN = pathlib.Path(__file__).with_name("run.py")


def run(*words):
    return subprocess.run([sys.executable, RUN, "--build", BUILD, "--pairs", "1", "--seconds", "0.05", *words],
                          capture_output=True, text=True, timeout=60)


class NodeBench(unittest.TestCase):
    def test_every_case_prints_its_line(self):
        done = run("--json")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["case"] for line in lines],
                         ["node-stream-8c", "node-small-8c", "node-small-8c-pipelined", "node-small-8c-gathered"], done.stderr)
        for line in lines:
            self.assertGreater(line["bare"], 0)
            self.assertGreater(line["sumac"], 0)
            self.assertGreater(line["ratio"], 0)

    def test_a_child_that_gets_no_processor_for_a_while_reads_no_sign_of_life_as_a_result(self):
        node = processes.start([BUILD / "bin/node-data"], stdout=processes.PIPE, text=True)
        self.addCleanup(processes.end, node)
        node.stdout.readline()
        address = node.stdout.readline().split()[1]
        load = processes.start([BUILD / "bin/node-load", "--to", address, "--pid", node.pid, "--speak", "sumac", "--children", 8, "--bytes", 65536, "--stream",
                                "--window", 16, "--seconds", 0.05, "--warmup", 0.05], stdout=processes.PIPE, stderr=processes.PIPE, text=True)
        self.addCleanup(processes.end, load)
        time.sleep(0.008)  # It has begun, and compares its first results.
        load.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # A node's heartbeat would come after 0.2 s.
        load.send_signal(signal.SIGCONT)
        self.assertIn('"operations"', load.communicate(timeout=60)[0])

    def test_a_missing_build_is_one_line(self):
        done = subprocess.run([sys.executable, RUN, "--build", "/nowhere"], capture_output=True, text=True, timeout=10)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))

    def test_a_window_that_was_not_granted_is_an_error_and_not_a_wrong_number(self):
        done = run("--case", "node-small-8c-pipelined", "--node", "--osts 4")
        self.assertEqual(done.returncode, 1)
        self.assertIn("another window than 16", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
