import unittest

from demolib import cases as C
from demolib import lab, ways

SMALL = [case for case in C.CASES if case.fabric is C.F_500US]
LINE = '{"program":"%s","case":"allreduce","bytes":8,"median":2.5,"errors":%s}'

HPCC_GOOD = """
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0077432 ...... PASSED
Begin of Summary section.
Success=1
End of Summary section.
"""


class Parsing(unittest.TestCase):
    def test_only_lines_of_the_program_count(self):
        text = "\n".join(["some noise", LINE % ("collbench", 0), LINE % ("sharp-client", 0)])
        self.assertEqual(list(ways.parse_results(text, "collbench")), [("allreduce", 8)])

    def test_wrong_or_missing_results_are_no_numbers(self):
        case = next(case for case in SMALL if case.collective == "allreduce")
        self.assertEqual(ways.take(ways.parse_results(LINE % ("bare-spin", "null"), "bare-spin"), [case]), {case.name: 2.5})
        for text in ("", LINE % ("collbench", 3)):
            with self.assertRaises(ways.WayFailed):
                ways.take(ways.parse_results(text, "collbench"), [case])

    def test_what_hpcc_says_of_itself(self):
        ways.check_hpcc(HPCC_GOOD)
        for text in ("", HPCC_GOOD.replace("PASSED", "FAILED"), HPCC_GOOD.replace("Success=1", "Success=0"),
                     HPCC_GOOD.replace("...... PASSED", "")):
            with self.assertRaises(ways.WayFailed):
                ways.check_hpcc(text)

    def test_last_words_prefers_our_own_line(self):
        self.assertEqual(lab.last_words("collbench: rank 3: broken\n-----\nmpirun detected that\n"), "collbench: rank 3: broken")
        self.assertEqual(lab.last_words("a\nb\n\n"), "b")
        self.assertEqual(lab.last_words(""), "no message")


class Plan(unittest.TestCase):
    def test_the_short_form_has_every_column_once(self):
        columns = [way.column for way in ways.ways(SMALL, C.SHORT)]
        self.assertEqual(columns, ["bare epoll", "Open MPI default", "Open MPI allreduce 1", "sumac"])

    def test_one_start_may_serve_two_algorithms(self):
        tuned = C.Tuned(allreduce=1, barrier=1)
        self.assertEqual((tuned.peer("allreduce"), tuned.peer("barrier")), ("Open MPI allreduce 1", "Open MPI barrier 1"))
        self.assertIn("coll_tuned_barrier_algorithm", tuned.flags())
        self.assertFalse(C.Tuned(allreduce=4).serves("barrier"))

    def test_the_long_form_has_every_algorithm_of_the_method(self):
        peers = {way.peers(case.collective) for way in ways.ways(SMALL, C.FULL) if isinstance(way, ways.Mpi) for case in way.cases}
        for name in ("allreduce 1", "allreduce 2", "allreduce 3", "allreduce 4", "allreduce 5", "allreduce 6",
                     "allreduce 5 segment 64K", "barrier 1", "barrier 2", "barrier 3", "barrier 4", "barrier 6"):
            self.assertIn(f"Open MPI {name}", peers)

    def test_what_the_programs_are_told(self):
        told = {case.name: C.program_case(case, C.SHORT) for case in C.CASES}
        self.assertEqual(told["allreduce-8B-16h-5ms"], "allreduce:8:20:3")
        self.assertEqual(told["barrier-16h-5ms"], "barrier::20:3")
        self.assertEqual(told["allreduce-16MiB-8h"], "allreduce:16777216:2:1")

    def test_the_users_environment_wins(self):
        self.assertEqual(ways.sumac_environment({})["HCOLL_ENABLE_SHARP"], "3")
        self.assertEqual(ways.sumac_environment({"HCOLL_ENABLE_SHARP": "4"})["HCOLL_ENABLE_SHARP"], "4")


if __name__ == "__main__":
    unittest.main()
