import unittest

from core.cells import Results
from demolib import cases as C
from demolib import running
from demolib.ways import WayFailed

from . import cases, columns, overlap
from .run import form_of

HIDDEN = [case for case in cases.CASES if case.kind == "overlap"]


class LabWithSwitch:
    """A lab whose switch has sent these numbers of frames, each so many us late on average, whenever it is asked."""

    before = None

    def __init__(self, *states):
        self.states = list(states)

    def status(self):
        frames, late = self.states.pop(0)
        return {"switch": {"frames": frames, "late_us_mean": late}}

    def drops(self):
        return 0


class Lateness(unittest.TestCase):
    def test_only_frames_since_the_beginning_count(self):
        for name, before, after, mean in (("none was late", (100, 0.0), (300, 0.0), 0.0), ("all were late before", (100, 50.0), (200, 25.0), 0.0),
                                          ("all were late since", (100, 0.0), (200, 25.0), 50.0), ("none was sent", (100, 9.0), (100, 9.0), 0.0)):
            with self.subTest(name):
                self.assertAlmostEqual(overlap.Lateness(LabWithSwitch(before, after)).mean_us(), mean)


class Shares(unittest.TestCase):
    def answer(self, **more):
        return {"overlap": 95.0, "errors": 0, "verified": 96, **more}

    def test_each_case_has_its_own(self):
        self.assertEqual(overlap.shares(HIDDEN[:2], [self.answer(), self.answer(overlap=80.0)]), [95.0, 80.0])

    def test_a_wrong_refused_or_missing_result_is_a_failure(self):
        for answers, words in (([self.answer(errors=2), self.answer()], "2 of 96 results"), ([{"refused": "no such collective"}], "no such collective"),
                               ([self.answer()], "1 answers for 2 cases")):
            with self.subTest(words), self.assertRaisesRegex(WayFailed, words):
                overlap.shares(HIDDEN[:2], answers)


class Columns(unittest.TestCase):
    def test_the_thread_and_open_mpi_take_turns_on_one_fabric(self):
        (_, own, steps), = running.plan(HIDDEN, form_of("usual"), columns.columns)
        self.assertEqual([case.name for case in own], [case.name for case in HIDDEN])
        self.assertEqual({step.way.column for step in steps}, {"sumac", C.OMPI_DEFAULT})
        self.assertEqual({step.run for step in steps if step.way.column == "sumac"}, set(range(5)))
        self.assertEqual(HIDDEN[0].environment, (("SUMAC_PROGRESS_THREAD", "1"),))

    def test_a_run_is_void_where_its_way_says_so(self):
        case, results = HIDDEN[0], Results()

        class Late:
            column, cases, void = "sumac", [case], "the switch sent frames 80 us late on average"

            def run(self, *_):
                return {(case.name, "sumac"): 50.0}

        step = running.Step(0, case.fabric, Late(), 1.0)
        running.run_step(step, LabWithSwitch(), None, results, running.Progress([step]))
        self.assertEqual((results.cell(case.name, "sumac").void, results.cell(case.name, "sumac").values), (1, []))


if __name__ == "__main__":
    unittest.main()
