"""A case is judged by the interval of its ratios."""

import types
import unittest

from core import verdict as V
from core.cells import Results

from . import picture, report
from .cases import CASES
from .turns import PLAIN, SUMAC, TUNED

CASE = next(case for case in CASES if case.name == "scalapack-16h-500us")  # It must be 1.05 times as fast.


def results_of(ratios, failures=()):
    results = Results()
    for start, value in enumerate(ratios):
        results.pair(CASE.name, PLAIN).add(start, value)
    results.cell(CASE.name, SUMAC).values += [1.0] * len(ratios)
    results.cell(CASE.name, SUMAC).failures += failures
    return results


TURN = types.SimpleNamespace(share=0.4, share_sumac=0.2, tuning=None, same_bits=True, tally=None)


class Report(unittest.TestCase):
    def test_verdicts(self):
        rows = (
            ("all of it above the limit, however wide", (1.1, 1.3, 1.8, 1.4), (), V.PASS),
            ("all of it below the limit", (0.9, 0.95, 0.97, 0.93), (), V.FAIL),
            ("the limit inside a narrow interval", (1.04, 1.05, 1.05, 1.06), (), V.PASS),
            ("the limit inside a wide interval", (0.9, 1.1, 1.2, 1.0), (), V.OPEN),
            ("one pair", (2.0,), (), V.OPEN),
            ("no pair", (), (), V.OPEN),
            ("fast and wrong", (1.5, 1.5, 1.5), ("another result",), V.FAIL),
        )
        for name, ratios, failures, wanted in rows:
            with self.subTest(name):
                self.assertEqual(report.judge(CASE, results_of(ratios, failures))[0], wanted)

    def test_only_cases_with_pairs_are_measured_again(self):
        self.assertTrue(report.is_open(CASE, results_of((0.9, 1.1, 1.2, 1.0))))
        self.assertFalse(report.is_open(CASE, results_of(())))
        self.assertFalse(report.is_open(CASE, results_of((0.9, 0.9, 0.9))))

    def test_an_entry_its_row_and_its_bar(self):
        results = results_of((1.5, 1.5, 1.6))
        results.cell(CASE.name, PLAIN).values += [1.5, 1.5, 1.6]
        one = report.entry(CASE, results, TURN)
        self.assertEqual((one["ratio"], one["ok"], one["peers"][PLAIN], one["peers"][TUNED]), (1.5, True, 1.5, None))
        self.assertIn("| scalapack-16h-500us | 40 %", report.table([one])[2])
        self.assertIn("1.50", picture.draw([one]))
        self.assertEqual(picture.draw([]), "")


if __name__ == "__main__":
    unittest.main()
