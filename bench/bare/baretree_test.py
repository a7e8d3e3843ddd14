#!/usr/bin/env python3
"""The bare tree over loopback: a root, two leaves, four hosts; and what it says when something is missing."""

import json
import subprocess
import sys
import unittest

BARETREE = sys.argv[1]


def start(*words):
    return subprocess.Popen([BARETREE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def node(children, *more):
    """(process, address) of a node that listens; port 0 lets the system choose."""
    process = start("node", "--listen", 0, "--children", children, "--limit", 60, *more)
    word, port = process.stdout.readline().split()
    assert word == "ready"
    return process, f"127.0.0.1:{port}"


class BareTree(unittest.TestCase):
    def run_tree(self, wait, *cases, more=()):
        words = ["--wait", wait, "--ranks", 4, *more, *(word for case in cases for word in ("--case", case))]
        root, at = node(2, *words)
        leaves = [node(2, "--parent", at, *words) for _ in range(2)]
        hosts = [start("host", "--parent", address, "--limit", 60, "--rank", 2 * leaf + i, *words)
                 for leaf, (_, address) in enumerate(leaves) for i in range(2)]
        out, err = root.communicate(timeout=60)
        self.assertEqual(root.returncode, 0, err)
        for process in [leaf for leaf, _ in leaves] + hosts:
            self.assertEqual(process.communicate(timeout=60)[1], "")
            self.assertEqual(process.returncode, 0)
        return [json.loads(line) for line in out.splitlines()]

    def test_small_messages_and_streams_in_both_ways_of_waiting(self):
        for wait in ("spin", "epoll"):
            lines = self.run_tree(wait, "barrier::20:2", "allreduce:8,100:20:2", "allreduce:1000000:3:1", "barrier::5:0")
            self.assertEqual([(line["case"], line["bytes"]) for line in lines],
                             [("barrier", 0), ("allreduce", 8), ("allreduce", 100), ("allreduce", 1000000), ("barrier", 0)])
            for line in lines:
                self.assertEqual((line["program"], line["ranks"], line["errors"]), (f"bare-{wait}", 4, None))
                self.assertTrue(0 < line["min"] <= line["median"] <= line["max"])

    def test_each_host_is_the_root_in_turn_and_gives_its_block(self):
        for more in ((), ("--chunk", "1000")):
            lines = self.run_tree("epoll", "bcast:8,100000:9:1", "reduce:8,100000:9:1", "allgather:32,100000:9:1", "allreduce:8:5:1", more=more)
            self.assertEqual([(line["case"], line["bytes"]) for line in lines],
                             [(name, size) for name, least in (("bcast", 8), ("reduce", 8), ("allgather", 32)) for size in (least, 100000)]
                             + [("allreduce", 8)])
            for line in lines:
                self.assertEqual((line["ranks"], line["iterations"]), (4, line["iterations"]))
                self.assertTrue(0 < line["min"] <= line["median"] <= line["max"] < 1000, line)

    def test_a_host_without_a_node_says_so(self):
        process = start("host", "--parent", "127.0.0.1:1", "--case", "barrier")
        self.assertIn("connect to 127.0.0.1:1: Connection refused", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 1)

    def test_a_node_whose_child_goes_away_ends(self):
        process, at = node(1, "--case", "barrier::1000000")
        host = start("host", "--parent", at, "--case", "barrier::10")
        self.assertIn("a child closed its connection", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 1)
        host.communicate(timeout=60)

    def test_nobody_waits_for_ever(self):
        process = start("node", "--listen", 0, "--children", 1, "--limit", 1, "--case", "barrier")
        self.assertIn("not done within --limit", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 124)

    def test_a_command_line_that_cannot_work_is_one_clear_line(self):
        for words, message in (
            ((), "node or host"),
            (("host", "--case", "barrier"), "a host needs --parent"),
            (("node", "--case", "barrier"), "a node needs --children"),
            (("host", "--parent", "x"), "nothing to do: give --case"),
            (("host", "--parent", "x", "--case", "barrier"), "'x' is not HOST:PORT"),
            (("node", "--children", "0", "--case", "barrier"), "--children 0"),
            (("node", "--wait", "long", "--case", "barrier"), "--wait long: spin or epoll"),
            (("host", "--parent", "x", "--case", "bcast:8"), "bcast needs --ranks"),
            (("host", "--parent", "x", "--ranks", "2", "--rank", "2", "--case", "bcast:8"), "--rank 2 of --ranks 2"),
            (("node", "--children", "2", "--ranks", "3", "--case", "allgather:8"), "3 ranks do not get equal parts of it"),
            (("node", "--colour", "--case", "barrier"), "cannot read '--colour'"),
        ):
            process = start(*words)
            err = process.communicate(timeout=60)[1]
            self.assertEqual((process.returncode != 0, err.count("\n")), (True, 1), err)
            self.assertIn(message, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
