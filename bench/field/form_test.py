"""The reader of tables, on small tables whose form is known, and on broken ones."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import facts  # noqa: E402
import form  # noqa: E402

OSU = """
# OSU MPI Allreduce Latency Test v5.3
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       1.32              0.36              2.27           5
8                       0.57              0.25              0.88           5
"""
RULE = "#---------------------------------------------------"
IMB = f"""#    A banner of MPI Benchmarks 1, MPI-1 part
# Date                  : today
# Calling sequence was: 

# ./IMB-MPI1 Barrier

{RULE}
# Benchmarking Barrier 
# #processes = 2 
# ( 1 additional process waiting in MPI_Barrier)
{RULE}
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            3         1.51         1.55         1.53

# All processes entering MPI_Finalize
"""


class Reads(unittest.TestCase):
    def one(self, text, exact=True):
        (table,) = form.read(text, exact)
        return table

    def test_a_table_of_osu(self):
        table = self.one(OSU)
        self.assertEqual((table.family, table.kind, table.sizes, table.ends), ("osu", "Allreduce", [4, 8], [6, 28, 46, 64, 76]))
        self.assertEqual(form.own_faults(table), [])
        self.assertEqual(form.differences(facts.osu("Allreduce", is_full=True), table), [])

    def test_a_table_of_intel(self):
        table = self.one(IMB)
        self.assertEqual(form.own_faults(table), [])
        self.assertEqual(form.differences(facts.imb("Barrier", is_waited_for=True), table), [])
        self.assertEqual(form.imb_preamble(IMB), ["#    BANNER, MPI-1 part", "# Date                  :", "# Calling sequence was:", "", "# COMMAND"])

    def test_published_tables_have_lost_their_blanks(self):
        text = "```\n# OSU MPI Allreduce Latency Test v5.3.2\n```\n\n# Size\tAvg Latency(us)\n------\t-----\n\n4\t2.44\n---\t---\n8\t2.54 <= a remark\n\nA text\n16 is no row"
        table = self.one(text, exact=False)
        self.assertEqual((table.sizes, table.columns), ([4, 8], ["Size", "Avg Latency(us)"]))
        self.assertEqual(form.differences(table, self.one(OSU.replace("   Min Latency(us)   Max Latency(us)  Iterations", "").replace(
            "              0.36              2.27           5", "").replace("              0.25              0.88           5", ""))), [])
        self.assertEqual(self.one("OSU Bcast\n\nmsglen hcoll xccl\n1 5.33 4.5\n2 4.6 4\n", exact=False).sizes, [1, 2])

    def test_each_difference_is_found(self):
        real = facts.osu("Allreduce", is_full=True)
        for name, wrong in (("another title", OSU.replace("Allreduce", "Reduce")), ("another column", OSU.replace("Min Latency(us)", "MPI_Test(us)   ")),
                            ("another order", OSU.replace("Min", "Mxx").replace("Max", "Min").replace("Mxx", "Max")),
                            ("a wider head", OSU.replace("  Iterations", "   Iterations")), ("other decimals", OSU.replace("2.27 ", "2.270"))):
            with self.subTest(name):
                self.assertNotEqual(form.differences(real, self.one(wrong)), [])
        self.assertNotEqual(form.own_faults(self.one(OSU.replace("8                       0.57", "8                      0.57"))), [])
        self.assertNotEqual(form.own_faults(self.one(OSU.replace("0.25", "0.2"))), [])
        short = IMB.replace(RULE, RULE[:-1])
        self.assertNotEqual(form.differences(facts.imb("Barrier", is_waited_for=True), self.one(short)), [])

    def test_a_text_without_rows_is_no_table(self):
        self.assertEqual(form.read("# OSU MPI Barrier Latency Test v1\n# Avg Latency(us)\n"), [])
        self.assertEqual(form.read("nothing"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
