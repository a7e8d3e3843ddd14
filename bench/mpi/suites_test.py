import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from core import verdict as V
from demolib.lab import start as start_process
from mpi import plan as P, suites


def tally(mpi=(), ours=(), count=100, left_out=()):
    out = suites.Tally()
    out.failed = {"mpi": set(mpi), "sumac": set(ours)}
    out.count = {"mpi": count, "sumac": count}
    out.left_out = list(left_out)
    return out


class Judging(unittest.TestCase):
    def test_only_a_failure_that_the_mpi_has_not_is_ours(self):
        rows = (
            (tally(), V.PASS),
            (tally(mpi=["a"], ours=["a"]), V.PASS),
            (tally(mpi=["a", "b"], ours=["c"]), V.FAIL),
            (tally(left_out=["4 ranks, piece 6"]), V.OPEN),
            (tally(ours=["c"], left_out=["4 ranks, piece 6"]), V.FAIL),
            (tally(count=0), V.OPEN),
        )
        for one, verdict in rows:
            self.assertEqual(suites.judged(one)[0], verdict, one.__dict__)

    def test_an_entry_counts_failures_and_names_ours(self):
        one = tally(mpi=["a"], ours=["a", "c"])
        found = suites.entry("suite-abi", "abi", one, *suites.judged(one))
        self.assertEqual((found["sumac"], found["peers"], found["only_with_sumac"], found["also_without"]), (2, {P.LABELS["abi"]: 1}, ["c"], ["a"]))


class Cases(unittest.TestCase):
    """Runs host-cases' parts with answers of a program that is described by its bad cases."""

    def part(self, bad, bad_alone=()):
        asked = []

        class Described(suites.Suites):
            def one_run(self, found, ranks, column, words):
                asked.append((column, words))
                if column == "mpi":
                    return "exit status 1: wrong" if words[words.index("--case") + 1] in bad_alone else ""
                first = words[words.index("--from") + 1]
                number = next((one for one in sorted(bad) if one >= first), None)
                return "" if number is None else f"exit status 1: host-cases: rank 0: wrong; case {bad[number]} (number {number}) on world (2 ranks in all): [...]"

        one = suites.Tally()
        Described({}, None, None, None).cases_part(mock.Mock(), 2, ["program"], 7, one)
        return one, asked

    def test_it_goes_on_behind_a_case_that_fails_and_repeats_that_one_alone(self):
        one, asked = self.part({3: "0xa3", 499: "0xb4"}, bad_alone=["0xb4"])
        self.assertEqual((one.ours, one.failed["mpi"], one.count["sumac"]), (["2 ranks, case 0xa3"], {"2 ranks, case 0xb4"}, suites.CASES_PART))
        self.assertEqual([words[words.index("--from") + 1] for column, words in asked if column == "sumac"], [0, 4])

    def test_all_right_is_one_run_and_many_failures_end_it(self):
        self.assertEqual(len(self.part({})[1]), 1)
        one, _ = self.part({number: f"0x{number:x}" for number in range(100)})
        self.assertEqual(len(one.failed["sumac"]), suites.FAILURES_MAX)


class Modules(unittest.TestCase):
    """Runs a part of mpi4py's tests with answers of programs that are described by the modules that hang in them."""

    def part(self, hanging):
        tried = []

        class Described(suites.Suites):
            def settings(self, found, column):
                return column

        def run_by(_launcher, column, _python, _tests, modules, _ranks, _silent_s):
            tried.append((column["column"], tuple(modules)))
            if hanging[column["column"]] & set(modules):
                return {suites.mpi4py_suite.incomplete(modules, "hangs")}, 0, ""
            return set(), len(modules), "sumac: collectives: no collective was called"

        found = mock.Mock(start=lambda ranks, options, settings: (["launcher"], {"column": settings}))
        found.name = "abi"
        one = suites.Tally()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suites.mpi4py_suite, "run_by", run_by):
            Described({}, None, Path(folder), None).part(found, ("python", "tests"), ["a", "b", "c"], 2, "2 ranks, piece 1", one)
        return one, tried

    def test_a_part_that_ends_runs_once_without_and_once_with(self):
        one, tried = self.part({"mpi": set(), "sumac": set()})
        self.assertEqual((one.count, one.ours, len(tried)), ({"mpi": 3, "sumac": 3}, [], 2))

    def test_a_module_that_hangs_hides_no_other(self):
        one, _ = self.part({"mpi": set(), "sumac": {"b"}})
        self.assertEqual((one.count, one.ours), ({"mpi": 3, "sumac": 2}, ["2 ranks, piece 1, b: b: hangs"]))

    def test_what_hangs_without_sumac_is_the_mpis_and_not_tried_with_it(self):
        one, tried = self.part({"mpi": {"b"}, "sumac": {"b", "c"}})
        self.assertEqual((one.ours, one.failed["mpi"]), (["2 ranks, piece 1, c: c: hangs"], {"2 ranks, piece 1, b: b: hangs"}))
        self.assertNotIn(("sumac", ("b",)), tried)


class Silence(unittest.TestCase):
    def listen(self, script, silent_s):
        with start_process([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
            return (*suites.mpi4py_suite.listen(process, silent_s), process.returncode)

    def test_what_ends_is_heard_to_its_last_word(self):
        self.assertEqual(self.listen("print('x' * 100000 + 'y'); raise SystemExit(3)", 600), ("x" * 100000 + "y\n", False, 3))

    def test_what_has_no_word_any_more_is_ended(self):
        text, is_silent, status = self.listen("import signal; print('a', flush=True); signal.pause()", 0.2)
        self.assertTrue(is_silent)
        self.assertLess(status, 0)
        self.assertIn(text, ("", "a\n"))


class Plan(unittest.TestCase):
    def test_20000_cases_with_open_mpi_4_and_2000_with_each_of_the_others(self):
        self.assertEqual(sum(count for _, count in suites.CASES[P.OPENMPI4]), 20000)
        self.assertEqual(suites.CASES_OTHERS, ((2, 2000),))
        for rows in (suites.CASES[P.OPENMPI4], suites.CASES_OTHERS):
            self.assertTrue(all(count % suites.CASES_PART == 0 for _, count in rows))
        self.assertEqual(suites.RANKS, (1, 2, 3, 4))

    def test_each_suite_has_a_case_for_each_mpi(self):
        self.assertEqual(suites.cases(["abi"]), ["suite-abi", "host-cases-abi"])
        self.assertEqual(len(suites.cases(P.MPIS)), 12)


if __name__ == "__main__":
    unittest.main()
