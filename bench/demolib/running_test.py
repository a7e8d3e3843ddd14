import io
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from demolib import cases as C
from demolib import report, running
from core.cells import Results


class Way:
    column = "sumac"

    def __init__(self):
        self.cases = [C.CASES[0]]


def steps(runs, guess_s):
    return [running.Step(run, C.F_5MS, Way(), guess_s) for run in range(runs)]


class Choose(unittest.TestCase):
    def test_names_and_patterns(self):
        for words, expected in (("", len(C.CASES)), ("barrier-16h-5ms", 1), ("*-500us", 2), ("barrier*,allreduce-8B*", 4),
                                ("hpcc-tree-share,hpcc*", 1)):
            self.assertEqual(len(running.choose("x", words, C.CASES)), expected, words)

    def test_what_names_nothing_is_refused(self):
        for words in ("nonesuch", "barrier*,x*"):
            with redirect_stderr(io.StringIO()), self.assertRaisesRegex(SystemExit, r"no case '(nonesuch|x\*)': "):
                running.choose("x", words, C.CASES)


class Verdicts(unittest.TestCase):
    def told(self, milliseconds, taken):
        case = next(case for case in C.CASES if case.name == "barrier-16h-5ms")
        results = Results()
        results.cell(case.name, "sumac").values.append(milliseconds)
        out = io.StringIO()
        with redirect_stdout(out), mock.patch.object(running.STOLEN, "words", return_value=taken):
            return running.verdicts(report.rows([case], results)), out.getvalue()

    def test_what_does_not_hold_fails_also_on_a_machine_that_others_use_which_is_told(self):
        self.assertEqual(self.told(20.5, "31 % (steal)"), (0, ""))
        alone, beside = self.told(30.0, ""), self.told(30.0, "31 % (steal)")
        self.assertEqual((alone[0], beside[0]), (1, 1))
        self.assertIn("barrier-16h-5ms: must hold", alone[1])
        self.assertEqual(beside[1], alone[1] + "This machine had 31 % (steal): what does not hold may do so when nobody else needs it. Then run it again.\n")


class WholeRuns(unittest.TestCase):
    def test_of_a_run_all_columns_are_left_out_or_none(self):
        """The clock is asked once a run: at its first step."""
        ran, elapsed = [], iter([0, 190])
        all_steps = [running.Step(run, C.F_5MS, Way(), 20.0) for run in range(3) for _ in range(2)]
        progress = running.Progress(all_steps)
        for step in all_steps:
            step.key = (step.run, id(step))
        with mock.patch.object(running, "bring_up", return_value=running.NoLab()), mock.patch.object(running, "cacheline_ns", return_value=None), \
             mock.patch.object(running.Progress, "elapsed_s", side_effect=lambda: next(elapsed)), \
             mock.patch.object(running, "run_step", side_effect=lambda step, *_: (ran.append(step.run), progress.waiting.remove(step))):
            running.run_group(C.F_5MS, [], all_steps, None, Results(), progress, None, budget_s=200.0, enough=1)
        self.assertEqual(ran, [0, 0, 1, 1])


class Complete(unittest.TestCase):
    """The exit status of the demo."""

    def told(self, case, fill):
        results = Results()
        for column in (C.OMPI_DEFAULT, "sumac"):
            results.cell(case.name, column).values.append(2.0)
        fill(results)
        out = io.StringIO()
        with redirect_stdout(out):
            return running.complete([case], results), out.getvalue()

    def test_a_wrong_result_or_one_that_is_missing_counts_and_slowness_does_not(self):
        case = next(case for case in C.DEMO if case.name == "barrier-16h-500us")
        for name, fill, expected in (
            ("fast", lambda results: None, (0, "")),
            ("100 times the limit", lambda results: results.cell(case.name, "sumac").values.append(1000.0), (0, "")),
            ("one void run of two", lambda results: setattr(results.cell(case.name, "sumac"), "void", 1), (0, "")),
            ("wrong", lambda results: results.cell(case.name, "sumac").failures.append("2 wrong results in x"),
             (1, "barrier-16h-500us: sumac: 2 wrong results in x\n")),
            ("a peer did not end", lambda results: results.cell(case.name, "Open MPI barrier 1").failures.append("not done after 60 s"),
             (1, "barrier-16h-500us: Open MPI barrier 1: not done after 60 s\n")),
            ("not built", lambda results: (results.cells.clear(), results.cell(case.name, C.OMPI_DEFAULT).values.append(6.0),
                                           results.note(case.name, "sumac", "not built yet")),
             (1, "barrier-16h-500us: sumac: no time: not built yet\n")),
            ("nothing but void runs", lambda results: (results.cell(case.name, "sumac").values.clear(),
                                                       setattr(results.cell(case.name, "sumac"), "void", 3)),
             (1, "barrier-16h-500us: sumac: no time: the fabric dropped frames in every run\n")),
        ):
            with self.subTest(name):
                self.assertEqual(self.told(case, fill), expected)

    def test_a_share_needs_no_peer(self):
        case = next(case for case in C.CASES if case.unit == "share")
        self.assertEqual(self.told(case, lambda results: results.cells[case.name].pop(C.OMPI_DEFAULT)), (0, ""))


class Budget(unittest.TestCase):
    def test_from_the_fourth_run_on_what_would_take_too_long_is_left_out(self):
        all_steps = steps(5, 100.0)
        progress = running.Progress(all_steps)
        self.assertEqual([running.is_too_late(step, progress, 200.0) for step in all_steps], [False] * 3 + [True] * 2)
        self.assertEqual([running.is_too_late(step, progress, 200.0, enough=1) for step in all_steps], [False] + [True] * 4)
        self.assertFalse(any(running.is_too_late(step, progress, 1e6) for step in all_steps))
        self.assertFalse(any(running.is_too_late(step, progress, None) for step in all_steps))


if __name__ == "__main__":
    unittest.main()
