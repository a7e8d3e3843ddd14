"""The judges of `make faults` on records that are made up."""

import math
import unittest

from slopes import judged, slope
from verdicts import wrong_of

LIMIT = 64


def record(had, reason="rank 1 (host h2) is dead", code="16"):
    return {**{operation: "ok" for operation in range(had)}, had: (code, reason)}


class Verdicts(unittest.TestCase):
    """Rank 1 of 3 is the victim. Operation 9 is an allreduce, 8 a broadcast from rank 2."""

    ROWS = (
        ("alike", record(9), record(9), "1", ""),
        ("one has the result", record(9), record(10), "0", "the first operation"),
        ("a broadcast has reached one, and nobody supplies it", record(8), record(9), "0", ""),
        ("its root has a broadcast before the others", record(8), record(9), "1", ""),
        ("a member has a broadcast that another could be supplied", record(9), record(8), "1", "the first operation"),
        ("two culprits", record(9), record(9, "rank 0 (host h1) is dead"), "1", "it is not rank 1"),
        ("another host", record(9, "rank 1 (host h3) is dead"), record(9, "rank 1 (host h3) is dead"), "1", "it is not rank 1"),
        ("no host", record(9, "rank 1 is dead"), record(9, "rank 1 is dead"), "1", "it is not rank 1"),
        ("two codes", record(9), record(9, code="1"), "1", "it is not rank 1"),
        ("one hangs", record(9), {8: "ok"}, "1", "without a verdict"),
        ("a result is lost", record(9), {**record(9), 7: "wrong"}, "1", "is wrong"),
    )

    def test_what_survivors_were_told(self):
        for name, first, last, recovery, wrong in self.ROWS:
            with self.subTest(name):
                found = wrong_of({0: first, 1: {0: "ok"}, 2: last}, 1, "h2", recovery)
                self.assertTrue(wrong in found and bool(wrong) == bool(found), found)


    def test_a_hosts_first_rank_may_keep_the_last_results_from_its_host_alone(self):
        for victim, beside, wrong in ((0, 8, ""), (0, 7, ""), (0, 10, "the first operation"), (1, 8, "the first operation")):
            with self.subTest((victim, beside)):
                name = f"rank {victim} (host h1) is dead"
                records = {rank: record(9, name) for rank in range(4)} | {1 - victim: record(beside, name)}
                found = wrong_of(records, victim, "h1", "1", 2)
                self.assertTrue(wrong in found and bool(wrong) == bool(found), found)


class Slopes(unittest.TestCase):
    @staticmethod
    def of(hours, slope_of, noise):
        """Samples each 5 s, with a noise that goes up and down."""
        return [(t / 3600, 20000 + slope_of * t / 3600 + noise * math.sin(t)) for t in range(0, int(hours * 3600), 5)]

    def test_the_interval_says_on_which_side_of_the_limit_a_slope_is(self):
        for name, hours, slope_of, noise, kind in (("still", 0.75, 0, 0, ""), ("noisy", 0.75, 0, 20, ""), ("at the limit", 0.75, LIMIT, 20, "void"),
                                                   ("grows", 0.75, 200, 20, "violated"), ("too short", 0.02, 0, 500, "void")):
            with self.subTest(name):
                self.assertEqual(judged(slope(self.of(hours, slope_of, noise)), LIMIT), kind)
        self.assertEqual(judged(slope([(0, 1), (1, 1)]), LIMIT), "void")
        least, low, high = slope(self.of(0.75, 200, 0))
        self.assertAlmostEqual(least, 200, delta=2)
        self.assertTrue(low <= least <= high)


if __name__ == "__main__":
    unittest.main()
