#!/usr/bin/env python3
"""Tests the effect of settings on a job: collectives that are left to MPI, communicators too small to be served, a selection file that is
applied."""

import pathlib
import re
import tempfile
import unittest

import common
from common import case

COLLECTIVES = ["barrier", "allreduce", "reduce", "bcast", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter_block",
               "gather", "gatherv", "scatter", "scatterv", "scan",
               "exscan", "reduce_scatter"]
EACH = 111  # calls of each collective: 1 blocking, 10 nonblocking, 100 persistent ones, so that a missing form shows


class Disabled(unittest.TestCase):
    def tallied(self, env):
        """Returns the served calls, by collective, and those left to MPI."""
        done = common.run(2, "tallied", env=env)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("tallied: all right", done.out, done.text)
        self.assertNotIn("warning", done.err)
        served = re.search(r"[:;] shared memory \d+ \(([^)]*)\)", done.err)
        counts = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", served[1])} if served else {}
        return counts, done.tally["next"] + done.tally["others"], done.text

    def test_nothing_is(self):
        served, left, text = self.tallied({})
        self.assertEqual((served, left), (dict.fromkeys(COLLECTIVES, EACH), 0), text)

    def test_each_collective_in_all_its_forms(self):
        for coll in COLLECTIVES:
            with self.subTest(coll):
                served, left, text = self.tallied({f"HCOLL_ML_DISABLE_{coll.upper()}": "1"})
                self.assertEqual((served, left), ({name: EACH for name in COLLECTIVES if name != coll}, EACH), text)

    def test_all_that_pass_through_anyway_change_nothing(self):
        others = ("ALLTOALLW",)
        served, left, text = self.tallied({f"HCOLL_ML_DISABLE_{coll}": "1" for coll in others})
        self.assertEqual((served, left), (dict.fromkeys(COLLECTIVES, EACH), 0), text)


class LeastRanks(unittest.TestCase):
    """Tests coll_hcoll_np. The program has communicators of three ranks, of two and of one."""

    def sizes(self, least):
        done = common.run(3, case.PROGRAMS / "churn", "6", env={"SUMAC_EXPLAIN": "1"}, component={"np": least})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("churn: 6 rounds passed", done.out, done.text)
        return {int(ranks) for ranks in re.findall(r"sumac: communicator .*: (\d+) ranks on", done.err)}, done

    def test_two_unless_said(self):
        found, done = self.sizes(None)
        self.assertEqual(found, {2, 3}, done.text)

    def test_three_leave_pairs_alone(self):
        found, done = self.sizes(3)
        self.assertEqual(found, {3}, done.text)
        self.assertGreater(done.tally["shared"], 0, done.text)

    def test_four_leave_all_alone(self):
        found, done = self.sizes(4)
        self.assertEqual((found, done.tally), (set(), None), done.text)


class SelectionFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sumac-host-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "tuning.json"

    def explained(self, text):
        self.path.write_text(text, encoding="utf-8")
        done = common.run(2, "host-cases", "--tame", "--cases", "40", env={"SUMAC_TUNING_FILE": str(self.path), "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("40 cases on 2 ranks right", done.out, done.text)
        return done

    def test_of_this_machine_is_applied(self):
        refused = self.explained(common.tuning_text("another machine"))
        self.assertNotIn("choices measured on this machine", refused.err)
        self.assertNotRegex(refused.err, r"allreduce +any size", "the built-in choice depends on the size")
        here = re.search(r"measured on another machine \(\"another machine\", this is \"([^\"]+)\"", refused.err)
        self.assertIsNotNone(here, refused.text)
        done = self.explained(common.tuning_text(here[1]))
        self.assertNotIn("warning", done.err)
        self.assertIn(f"  choices measured on this machine: {self.path}\n", done.err, done.text)
        self.assertRegex(done.err, r"  allreduce +any size +host: .*\"flat\"", done.text)


if __name__ == "__main__":
    common.skip_if_sanitized()
    case.main()
