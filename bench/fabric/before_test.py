import unittest

from demolib.ways import NotBuilt, WayFailed

from . import before, cases, columns

CALL = next(case for case in cases.CASES if case.name == "allreduce-8B-16h-500us")
RATE = next(case for case in cases.CASES if case.name == "node-small-8c")


class Labs:
    before = "their lab"


class Toolbox:
    before = "their tools"


class Way:
    """Returns the next number of the side that runs, and stores the order of the sides."""

    column = "sumac"

    def __init__(self, case, ours, theirs):
        self.cases, self.numbers, self.asked = [case], {"ours": iter(ours), "theirs": iter(theirs)}, []

    def run(self, lab, tools, _):
        side = "theirs" if lab == "their lab" else "ours"
        self.asked.append((side, tools == "their tools"))
        number = next(self.numbers[side])
        if isinstance(number, Exception):
            raise number
        return {(self.cases[0].name, "sumac"): number}


def run(way):
    return way.run(Labs(), Toolbox(), 60)


class BesideBefore(unittest.TestCase):
    def test_each_run_is_a_pair_and_who_goes_first_changes(self):
        way = Way(CALL, [2.2, 3.0], [2.0, 3.0])
        both = before.BesideBefore(way)
        self.assertEqual(run(both), {(CALL.name, "sumac"): [2.2], (CALL.name, "before"): [2.0]})
        self.assertEqual([round(ratio, 6) for ratio in both.ratios[CALL.name, "before"]], [1.1])
        run(both)
        self.assertEqual(both.ratios, {(CALL.name, "before"): [1.0]})
        self.assertEqual(way.asked, [("theirs", True), ("ours", False), ("ours", False), ("theirs", True)])

    def test_less_of_a_rate_is_slower(self):
        both = before.BesideBefore(Way(RATE, [[50.0]], [[100.0]]))
        run(both)
        self.assertEqual(both.ratios, {(RATE.name, "before"): [2.0]})

    def test_turns_with_the_bare_program_stay_turns(self):
        case = next(case for case in cases.CASES if case.name == "client-cpu-4MiB")
        way = columns.InTurns(Way(case, [1.0, 1.0, 1.0, 1.0], []), Way(case, [2.0, 2.0], [4.0, 4.0]), 2)
        way.bare.column, way.bare.run = "bare epoll", lambda *_: {(case.name, "bare epoll"): 1.0}
        both = before.BesideBefore(way)
        self.assertEqual(run(both), {(case.name, "bare epoll"): [1.0, 1.0], (case.name, "sumac"): [2.0, 2.0], (case.name, "before"): [4.0, 4.0]})
        self.assertEqual(both.ratios, {(case.name, "bare"): [2.0, 2.0], (case.name, "before"): [0.5, 0.5]})

    def test_a_failure_of_the_other_build_is_not_ours(self):
        both = before.BesideBefore(Way(CALL, [2.2], [WayFailed("hung")]))
        self.assertEqual(run(both), {(CALL.name, "sumac"): [2.2]})
        self.assertEqual((both.failures, both.ratios), ({(CALL.name, "before"): "hung"}, {}))
        both = before.BesideBefore(Way(CALL, [2.2], [NotBuilt("not built yet")]))
        self.assertEqual(run(both), {(CALL.name, "sumac"): [2.2]})
        self.assertEqual(both.notes, {(CALL.name, "before"): "not built yet"})
        with self.assertRaises(WayFailed):
            run(before.BesideBefore(Way(CALL, [WayFailed("wrong")], [2.0])))


if __name__ == "__main__":
    unittest.main()
