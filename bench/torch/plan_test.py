"""Tests of the cells and of their verdicts."""

import unittest

import plan as P
import report
import suite
from core.cells import Results


def judged(ours, gloo, nothing, cell, component=None):
    results = Results()
    for start in range(3):
        for name, value in ((P.SUMAC, ours), (P.GLOO, gloo), (P.NOTHING, nothing)):
            results.cell(cell.name, name).values.append(value)
        results.pair(cell.name, P.GLOO).add(start, gloo / ours)
        if component is not None:
            results.cell(cell.name, P.COMPONENT).values.append(component)
    return report.row(cell, results, 103.0)


class Plan(unittest.TestCase):
    def test_the_cells_of_the_table(self):
        names = P.names_of("")
        self.assertEqual(len(names), len(set(names)))
        for name in ("allreduce-8B-2r", "allreduce-32MiB-2r", "alltoall-4MiB-2r", "reduce_scatter-8B-2r", "allreduce-8B-4r", "idle-cpu", "ddp-loss-2r"):
            self.assertIn(name, names)
        self.assertEqual(P.names_of("allreduce-*-2r,idle-cpu"), ["allreduce-8B-2r", "allreduce-64KiB-2r", "allreduce-32MiB-2r", "idle-cpu"])
        with self.assertRaisesRegex(ValueError, "no case allreduce-9B"):
            P.names_of("allreduce-9B")

    def test_a_cell_holds_both_limits_or_fails(self):
        cell = next(cell for cell in P.cells() if cell.name == "allreduce-8B-2r")
        for ours, gloo, nothing, word in ((20, 400, 10, "pass"), (26, 400, 10, "FAIL"), (60, 400, 50, "FAIL")):
            with self.subTest(ours=ours):
                self.assertEqual(judged(ours, gloo, nothing, cell)["verdict"], word)
        entry = judged(20, 400, 10, cell)
        self.assertEqual((entry["ok"], entry["ratio"], entry["bare"], entry["above_nothing_us"]), (True, 20, 10, 10))

    def test_a_cell_is_compared_with_the_component(self):
        cell = next(cell for cell in P.cells() if cell.name == "allreduce-32MiB-2r")
        for ours, component, word in ((1000, 900, "pass"), (1000, 800, "FAIL")):
            with self.subTest(component=component):
                self.assertEqual(judged(ours, 4000, 1, cell, component)["verdict"], word)

    def test_a_case_between_hosts(self):
        for name, ours, gloo, alone, word in (("allreduce-64MiB-8h", 2800, 5000, None, "pass"), ("allreduce-64MiB-8h", 3000, 5000, None, "FAIL"),
                                              ("allreduce-64MiB-8h", 2800, 3000, None, "FAIL"), ("ddp-step-8h", 3000, 5000, 400, "pass"),
                                              ("ddp-step-8h", 4000, 5000, 400, "FAIL"), ("ddp-step-8h", 3000, 5000, 600, "open")):
            with self.subTest(name=name, ours=ours, gloo=gloo, alone=alone):
                case, results = next(case for case in P.BETWEEN if case.name == name), Results()
                for turn in range(3):
                    for backend, value in ((P.SUMAC, ours), (P.GLOO, gloo), (P.ALONE, alone)):
                        if value is not None:
                            results.cell(name, backend).values.append(value)
                    results.pair(name, P.GLOO).add(turn, gloo / ours)
                self.assertEqual(report.between(case, results)["verdict"], word)

    def test_operations_that_travel_together(self):
        names = [case.name for case in P.BETWEEN]
        for what in ("8-async-allreduce-8B", "16-async-allreduce-8B", "8-broadcast-row"):
            tree, messages = (P.BETWEEN[names.index(f"{what}-8h-500us{nodes}")] for nodes in ("", "-nonodes"))
            self.assertEqual((tree.nodes, messages.nodes, tree.faster, tree.bytes), (True, False, 1, messages.bytes))
            self.assertEqual(messages.beside, None)
            self.assertLess(names.index(messages.name), names.index(tree.name), "the row beside which it is judged comes first")
        for name, ours, gloo, one, word in (("8-async-allreduce-8B-8h-500us", 3.9, 60, 3, "pass"), ("8-async-allreduce-8B-8h-500us", 4.0, 60, 3, "FAIL"),
                                            ("16-async-allreduce-8B-8h-500us-nonodes", 4.5, 120, 3, "pass"),
                                            ("16-async-allreduce-8B-8h-500us-nonodes", 4.6, 120, 3, "FAIL"),
                                            ("8-async-allreduce-8B-8h-500us", 3.9, 3.8, 3, "FAIL")):
            with self.subTest(name=name, ours=ours, gloo=gloo):
                self.assertEqual(self.small(name, ours, gloo, one)["verdict"], word)

    def test_broadcasts_by_the_tree_are_no_slower_than_by_messages(self):
        for ours, messages, word in ((4.0, 4.0, "pass"), (4.1, 4.0, "FAIL"), (4.0, None, "open")):
            with self.subTest(ours=ours, messages=messages):
                self.assertEqual(self.small("8-broadcast-row-8h-500us", ours, 30, None, messages)["verdict"], word)

    def small(self, name, ours, gloo, one, messages=None):
        case, results = next(case for case in P.BETWEEN if case.name == name), Results()
        for turn in range(3):
            for backend, value in ((P.SUMAC, ours), (P.GLOO, gloo), (P.ONE, one)):
                if value is not None:
                    results.cell(name, backend).values.append(value)
            results.pair(name, P.GLOO).add(turn, gloo / ours)
        if messages is not None:
            results.cell(case.beside, P.SUMAC).values.append(messages)
        return report.between(case, results)

    def test_a_suite_passes_with_a_reason_for_each_exception(self):
        found = {(f"test_{i}", 3): ({"outcome": "passed"}, {"outcome": "passed"}) for i in range(39)}
        found["test_of_gpus", 3] = ({"outcome": "failed"}, None)
        self.assertEqual((suite.judged(found)["verdict"], suite.judged(found)["sumac"]), ("pass", 1))
        found["test_barrier_timeout_full_group", 3] = ({"outcome": "passed"}, {"outcome": "failed"})
        entry = suite.judged(found)
        self.assertEqual((entry["verdict"], entry["why"], entry["sumac"]), ("pass", "39 of 40", 0.975))
        self.assertIn("gloo's words", entry["exceptions"]["test_barrier_timeout_full_group (3 processes)"])
        found["test_unheard", 3] = ({"outcome": "passed"}, {"outcome": "late"})
        self.assertEqual(suite.judged(found)["verdict"], "FAIL")
        self.assertIn("without a reason: test_unheard (3 processes)", suite.judged(found)["why"])

    def test_a_number_with_a_limit(self):
        self.assertTrue(report.limited("idle-cpu", "share", 0.01, 0.01)["ok"])
        self.assertFalse(report.limited("idle-cpu", "share", 0.011, 0.01)["ok"])
        self.assertFalse(report.limited("ddp-loss-2r", "ratio", 0, 0, "two runs differ")["ok"])


if __name__ == "__main__":
    unittest.main()
