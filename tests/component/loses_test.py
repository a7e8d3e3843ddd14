"""A tree that loses with large messages gets only the small ones: its only node is on a spare host, and the limit follows from the fabric's
rates (docs/crossover.md), or from the user's setting."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-1spare.yaml"
SETTINGS = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "256",
    "SHARP_COLL_JOB_QUOTA_OSTS": "128",
    "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "8",
    "SUMAC_EXPLAIN": "1",
}
# The tree takes 2 hops and 8 vectors at 100 Mbit/s; the ring 14 steps of a hop and 2 x 7/8 vectors. A hop is 1 ms, and
# recursive doubling takes 3 with a vector each.
WHY = "16 MiB: tree 10739.4 ms, ring of 8 hosts 2362.8 ms; beyond 2.44 KiB the hosts' own algorithms are faster, recursive doubling first"
CALLS = 5


class Loses(case.OnLab):
    lab = case.Lab("loses", FABRIC)

    def sums(self, size, **settings):
        """Runs CALLS allreduces of `size` bytes; returns how many used the tree, how many the next module, and the output."""
        settings = {**SETTINGS, **settings}
        exported = [word for name in settings for word in ("-x", name)]
        done = self.lab("mpirun", "-n", "8", *case.TCP, *case.YIELD, *case.component_flags(), *exported, case.PROGRAMS / "sums", str(size), str(CALLS),
                        env=settings)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"sums: {CALLS} of {size} bytes right on 8 ranks", done.out, done.text)
        self.assertEqual(done.tally["allreduces"], CALLS, done.text)
        return (done.tally["allreduce"], done.tally["next"]), done.err

    def test_up_to_the_limit_the_tree_and_above_the_next_module(self):
        for size, ways in ((8, (CALLS, 0)), (2500, (CALLS, 0)), (2504, (0, CALLS)), (200_000, (0, CALLS))):
            with self.subTest(size=size):
                went, said = self.sums(size)
                self.assertEqual(went, ways, said)
                line = "SHArP: communicator MPI_COMM_WORLD: for the tree: allreduce up to 2500 bytes, reduce up to 256 bytes, "
                self.assertEqual(said.count(line), 1, said)
                self.assertEqual(said.count(f" (allreduce: {WHY})\n"), 1, said)

    def test_the_library_tells_whoever_loads_it(self):
        _, said = self.sums(8, SHARP_COLL_LOG_LEVEL="3", SUMAC_EXPLAIN="0")
        self.assertRegex(said, r"INFO group [0-9a-f]+: large messages lose in its tree: " + WHY)
        self.assertNotIn("for the tree: ", said)

    def test_whoever_wants_the_tree_all_the_same_gets_it(self):
        for request in ({"HCOLL_ENABLE_SHARP": "4"}, {"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": "inf"}, {"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX": "4096"}):
            with self.subTest(request=request):
                went, said = self.sums(4096, **request)
                self.assertEqual(went, (CALLS, 0), said)


if __name__ == "__main__":
    case.main()
