import dataclasses
import json
import pathlib
import tempfile
import unittest

from demolib import profile
from demolib.schema_test import call, trace

TEXT = """sumac: collectives: shared memory 3 (barrier 1, bcast 2)
sumac: profile: 2 ranks on 1 host, 12.3 s from MPI_Init to MPI_Finalize
  in collectives: 2.00 s of all ranks together, 5.0 % of their time
  a rank: least 400 ms, mean 500 ms, most 600 ms (rank 1 on node7)
  collective                 size        way                              calls              bytes      time  share      mean   slowest rank
  bcast                      <= 64 B     shared memory                        4               32 B    1.20 s 60.0 %   30.0 us   0 on node1: 10.0 ms
  reduce_scatter_block_init  <= 16 MiB   shared memory and leaders            1          3145728 B    800 ms 40.0 %    800 ms   1 on node1: 20.0 ms
  barrier                    0 B         next module                          2                0 B    950 ns  0.0 %    475 ns   1 on node1: 30.0 ms
  bcast                      <= 512 B    next module                          1              100 B    950 ns  0.0 %    475 ns   1 on node1: 30.0 ms
  all                                                                         8          3145860 B    2.00 s 100.0 %   50.0 us
"""
OUT = """counted: 0 Barrier 1 0
counted: 0 Bcast 3 116
counted: 0 Reduce_scatter_block_init 1 3145728
counted: 1 Barrier 1 0
counted: 1 Bcast 2 16
"""


class Profile(unittest.TestCase):
    def test_a_table_is_read(self):
        found = profile.read(TEXT)
        self.assertEqual((found.ranks, found.hosts, found.share, found.slowest, found.calls), (2, 1, 5.0, 1, 8))
        self.assertEqual(found.rows[1], profile.Row("reduce_scatter_block_init", "<= 16 MiB", "shared memory and leaders", 1, 3145728, 800000.0, 40.0, 1))
        self.assertEqual(found.calls_and_bytes(), {"bcast": (5, 132), "reduce_scatter_block_init": (1, 3145728), "barrier": (2, 0)})
        self.assertIsNone(profile.read("sumac: collectives: shared memory 3"))

    def test_two_tables_are_a_mistake(self):
        with self.assertRaisesRegex(ValueError, "2 profiles"):
            profile.read(TEXT + TEXT)

    def test_what_differs_is_named(self):
        own = profile.summed(profile.counted(OUT))
        self.assertEqual(profile.differences(own, profile.read(TEXT).calls_and_bytes(), "profile"), [])
        self.assertIn("bcast: the program made (5, 132) calls and bytes, Sumac counted (4, 132)",
                      profile.differences(own, {**own, "bcast": (4, 132)}, "profile")[0])
        self.assertIn("scan: the program made (0, 0)", profile.differences(own, {**own, "scan": (1, 4)}, "profile")[0])

    def test_profile_and_traces_are_compared_with_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            first = [call(1, 1), call(2, 1, name="bcast", size=8), call(3, 1, name="bcast", size=8), call(4, 1, name="bcast", size=100),
                     call(5, 1, name="reduce_scatter_block_init", size=3145728)]
            second = [call(1, 1), call(2, 1, name="bcast", size=8), call(3, 1, name="bcast", size=8)]
            for rank, events in enumerate((first, second)):
                (pathlib.Path(folder) / f"sumac-trace-{rank}.json").write_text(json.dumps(trace(*events)), encoding="utf-8")
            self.assertEqual([one for one in profile.compare(OUT, TEXT, folder, 2) if "the traces of the ranks" not in one], [])
            (pathlib.Path(folder) / "sumac-trace-1.json").write_text(json.dumps(trace(*second[1:])), encoding="utf-8")
            self.assertIn("trace of rank 1: barrier", profile.compare(OUT, TEXT, folder, 2)[0])
            self.assertIn("1 of 2 ranks printed", profile.compare(OUT.replace(": 1 ", ": 0 "), TEXT, folder, 2)[0])
            self.assertEqual(profile.compare(OUT, "", folder, 2), ["no profile was printed"])


    def test_times_and_slowest_ranks_are_those_of_the_traces(self):
        files = [trace(call(1, 300, name="bcast", size=8)), trace(call(1, 500, name="bcast", size=64), call(900, 1, name="bcast", size=65))]
        row = profile.Row("bcast", "<= 64 B", "MPI", 2, 72, 800.0, 99.0, 1)
        for rows, count in (([row], 0), ([dataclasses.replace(row, us=750.0)], 1), ([dataclasses.replace(row, slowest=0)], 1)):
            self.assertEqual(len(profile.wrong_times(profile.Profile(2, 1, 1.0, 1, rows, 2), files)), count, rows)

    def test_sizes_have_the_classes_of_the_table(self):
        for size, text in ((0, "0 B"), (1, "<= 64 B"), (64, "<= 64 B"), (65, "<= 512 B"), (16 << 20, "<= 16 MiB"), ((16 << 20) + 1, "> 16 MiB")):
            self.assertEqual(profile.size_class(size), text)


class Trace(unittest.TestCase):
    def load(self, *events, **other):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "one.json"
            path.write_text(json.dumps(trace(*events, **other)), encoding="utf-8")
            return profile.load_trace(path)

    def test_calls_of_several_threads_may_overlap(self):
        self.assertEqual(len(profile.calls_of(self.load(call(1, 9), call(2, 1, tid=1), call(3, 1, tid=1)))), 3)

    def test_calls_of_one_thread_may_not(self):
        with self.assertRaisesRegex(ValueError, "begins inside another call"):
            self.load(call(1, 9), call(2, 1))

    def test_unsorted_calls_and_a_wrong_count_are_refused(self):
        with self.assertRaisesRegex(ValueError, "begins before"):
            self.load(call(5, 1), call(2, 1))
        with self.assertRaisesRegex(ValueError, "1 events instead of 2"):
            self.load(call(5, 1), events=2)


if __name__ == "__main__":
    unittest.main()
