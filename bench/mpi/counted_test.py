import unittest

from core import verdict as V
from demolib.compiling import Absent
from mpi import counted, plan as P


class Described(counted.Counted):
    """Answers as told, without a program."""

    def __init__(self, answers, absent=""):
        super().__init__({}, None, None)
        self.answers, self.absent = answers, absent

    def profiles(self):
        yield from self.answers
        if self.absent:
            raise Absent(self.absent)


class Judging(unittest.TestCase):
    def test_every_run_must_have_the_programs_own_count(self):
        for answers, absent, word, ours in (
            ([("a", []), ("b", [])], "", V.PASS, 0),
            ([("a", []), ("b", ["bcast: 3 instead of 4", "scan: 0"])], "", V.FAIL, 2),
            ([], "no compiler", V.OPEN, None),
            ([], "", V.OPEN, None),
        ):
            with self.subTest(answers=answers, absent=absent):
                found = Described(answers, absent).case(counted.PROFILE)
                self.assertEqual((found["verdict"], found["sumac"], found["ok"]), (word, ours, {V.PASS: True, V.FAIL: False}.get(word)))
                self.assertEqual(found["peers"], {P.LABELS[P.OPENMPI4]: None})

    def test_what_differs_is_in_the_entry(self):
        found = Described([("MPICH 5, 2 ranks", ["bcast: 3 instead of 4"])]).case(counted.PROFILE)
        self.assertEqual(found["wrong"], ["MPICH 5, 2 ranks: bcast: 3 instead of 4"])
        self.assertIn("1 differences: MPICH 5, 2 ranks: bcast", found["why"])

    def test_the_list_names_both(self):
        self.assertEqual(P.names_of("", [], counted.cases()), ["profile", "oshmem"])
        self.assertEqual(P.names_of("osh*", [], counted.cases()), ["oshmem"])


class Mpis(unittest.TestCase):
    def test_each_case_asks_for_the_mpis_that_it_runs(self):
        self.assertEqual(P.wanted_for(["barrier-2r-abi", "suite-impi"], P.MPIS), ["abi", "impi"])
        self.assertEqual(P.wanted_for(["oshmem"], P.MPIS), ["openmpi4"])
        self.assertEqual(P.wanted_for(["profile"], P.MPIS), list(P.MPIS))


if __name__ == "__main__":
    unittest.main()
