"""What tests/pasted reads, from texts whose meaning is known; the page made from the table; and the table against the published texts."""

import os
import pathlib
import unittest

import lines
import page
import texts


class Reads(unittest.TestCase):
    def test_log_lines_without_what_differs(self):
        ours = ("[nemo01:0:24 - context.cpp:179] INFO tree_info: tree idx:0 quota: ( osts:51 user_data_per_ost:1024 max_groups:51 max_qps:1 max_group_channels:1)\n"
                "[nemo01:0:38 - api.cpp:366] WARN sharp_alloc_groups_info failed: No available groups(-11): no group id left\n"
                "[nemo01:0:75 - comm.cpp:221] INFO group 10011: large messages lose in its tree: 16 MiB: tree 671.3 ms\n"
                "[nemo02:38:3][say.c:47:sumac_say_once] SHArP: continuing without sharp on this communicator..\nanything else\n")
        published = "\n".join((lines.granted(), lines.ONE_GROUP[-2], lines.CONTINUING))
        self.assertEqual(texts.log_lines(ours.replace("1024", "128")), texts.log_lines(published))
        self.assertNotEqual(texts.log_lines(ours), texts.log_lines(published), "1024 is not 128")
        self.assertEqual(len(texts.log_lines(ours)), 3)

    def test_an_address_of_zeros_is_another_than_one_that_was_drawn(self):
        drawn, none = lines.group(8), lines.group(8, address="subnet prefix: 0x0 interface id: 0x0 ) mlid:0")
        self.assertNotEqual(texts.log_lines(drawn), texts.log_lines(none))
        self.assertEqual(texts.log_lines(drawn), texts.log_lines(drawn.replace("0x4c590e000007", "0xefff").replace("c005", "c034")))

    def test_columns(self):
        self.assertEqual(texts.sizes("# OSU MPI Allreduce Latency Test v5.3.2\n# Size       Avg Latency(us)\n4  2.49\n8       2.54\n"), (4, 8))
        self.assertEqual(texts.sizes("# OSU MPI Allreduce Latency Test\n# Size  Avg Latency(us) Min Latency(us)\n4  2.49 1.0 3.0 10\n"), (4,))
        self.assertEqual(texts.sizes("# OSU MPI Barrier Latency Test\n# Avg Latency(us)\n  3.72\n"), ())
        self.assertEqual(texts.barrier_time("# OSU MPI Barrier Latency Test v5.3.2\n# Avg Latency(us)\n              3.72\n"), 3.72)
        self.assertIsNone(texts.barrier_time("# OSU MPI Barrier Latency Test v5.3.2\n# Avg Latency(us)\n"))
        table = "#-----\n#repetitions t_min[usec] t_max[usec] t_avg[usec]\n 1000 2.16 2.16 2.16\n"
        self.assertEqual(texts.imb_processes("# Benchmarking Barrier\n# #processes = 4\n# ( 4 additional processes waiting in MPI_Barrier)\n" + table +
                                             "# Benchmarking Barrier \n# #processes = 8 \n" + table), [(4, 4), (8, 0)])
        self.assertEqual(texts.imb_processes("# Benchmarking Barrier\n# #processes = 8\n"), [])

    def test_command_lines_in_a_text(self):
        self.assertEqual(texts.plain(" - \\$ mpirun ... **-mca coll 1**\n./osu_barrier"), "- $ mpirun ... -mca coll 1 ./osu_barrier")
        self.assertEqual(texts.program_starts("$ mpirun -np 8  \n-x A=1 ./a\nmpirun ... b; `mpirun –mca pml ucx`; by mpirun, which"), 3)


class Page(unittest.TestCase):
    maxDiff = None

    def test_every_line_has_its_row(self):
        rows = [row for row in page.text().splitlines() if row.startswith("| `")]
        self.assertEqual(len(rows), len(lines.LINES))
        for line in lines.LINES:
            self.assertTrue(any(row.startswith(f"| `{page.cell(line.text)}` | {line.place} |") for row in rows), line.text)

    def test_what_is_left_out_has_a_reason_and_what_is_replayed_has_hosts(self):
        for line in lines.LINES:
            with self.subTest(line.text):
                self.assertTrue(line.note or line.fate in (lines.SMALL, lines.LARGE))
                self.assertEqual(bool(line.hosts), line.fate in (lines.SMALL, lines.LARGE))
                self.assertTrue(not line.hosts or (pathlib.Path(__file__).parent / line.hosts).exists())

    def test_the_lines_stand_in_the_published_texts(self):
        """SUMAC_SEEDS names the folder of these texts, which are not part of this repository."""
        if not os.environ.get("SUMAC_SEEDS"):
            self.skipTest("SUMAC_SEEDS does not name the folder of the published texts")
        published = [file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(os.environ["SUMAC_SEEDS"]).glob("*.txt"))]
        everything = texts.plain("\n".join(published)).replace(" .osu_barrier", " ./osu_barrier")
        for line in lines.LINES:
            self.assertIn(texts.plain(line.text), everything)
        starts = sum(everything.count(texts.plain(text)) for text in {line.text for line in lines.LINES if line.text.startswith("mpirun")})
        self.assertEqual(starts, sum(texts.program_starts(text) for text in published), "a line is missing in the table")


if __name__ == "__main__":
    unittest.main(verbosity=2)
