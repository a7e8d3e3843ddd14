import unittest
from pathlib import Path

from core.cells import Results
from core.pairs import Pairs

from . import grid, judging, table

LINES = {"tree": {"fixed_s": 1e-3, "per_byte_s": 1e-7}, "ring": {"fixed_s": 1e-2, "per_byte_s": 2e-7},
         "halving": {"fixed_s": 4e-3, "per_byte_s": 2e-7}, "doubling": {"fixed_s": 2e-3, "per_byte_s": 4e-7},
         "linear": {"fixed_s": 2e-3, "per_byte_s": 8e-7}}


def cells():
    return [cell for us in (grid.FLOOR_US, 500) for cell in grid.cells(grid.spot(4, us, "switch", Path("/nowhere")), LINES)]


def judged(tree, own, chose, floor=(0.1, 0.1), size=4 << 10):
    """The row of one cell; its bounds: tree 1.4 ms, hosts 3.6."""
    results, all_cells = Results(), cells()
    for cell in all_cells:
        if cell.size != size:
            continue
        is_floor = cell.fabric.round_trip_us == grid.FLOOR_US
        for column, value in (("sumac", floor[0] if is_floor else tree), ("Open MPI allreduce 3", floor[1] if is_floor else own)):
            if value is not None:
                results.cell(cell.name, column).values.append(value)
        if chose and not is_floor:
            results.note(cell.name, "chose", chose)
    return next(row for row in judging.judge(all_cells, results) if row.cell.size == size), results


class Verdicts(unittest.TestCase):
    def test_the_faster_way_was_chosen_or_not(self):
        for name, tree, own, chose, floor, word in (
                ("tree, faster", 2.0, 4.0, "tree", (0.1, 0.1), "right"),
                ("tree, slower", 4.0, 2.0, "tree", (0.1, 0.1), "wrong"),
                ("hosts, faster", 4.0, 2.0, "hosts", (0.1, 0.1), "right"),
                ("hosts, slower", 2.0, 4.0, "hosts", (0.1, 0.1), "wrong"),
                ("as fast as the other", 2.0, 2.2, "hosts", (0.1, 0.1), "even"),
                ("just not as fast", 2.0, 2.21, "hosts", (0.1, 0.1), "wrong"),
                ("the cores are slower than the tree's links", 2.0, 4.0, "hosts", (1.5, 0.1), "cores"),
                ("the cores are slower than the hosts' links", 2.0, 4.0, "hosts", (0.1, 3.7), "cores"),
                ("nobody knows what the cores take", 2.0, 4.0, "hosts", (None, 0.1), "cores"),
                ("no number for the tree", None, 4.0, "tree", (0.1, 0.1), ""),
                ("no word of the selection", 2.0, 4.0, "", (0.1, 0.1), "")):
            with self.subTest(name):
                self.assertEqual(judged(tree, own, chose, floor)[0].verdict, word)

    def test_in_turns_the_interval_decides(self):
        cell = next(one for one in cells() if one.fabric.round_trip_us == 500 and one.size == 4 << 10)
        for ratios, chose, word in (([1.25, 1.31, 1.2, 1.27, 1.22, 1.3], "tree", "wrong"), ([1.25, 1.31, 1.2, 1.27, 1.22, 1.3], "hosts", "right"),
                                    ([0.8, 1.3, 0.9, 1.4, 1.2, 0.7], "tree", "even"), ([0.7, 0.75, 0.72, 0.74, 0.7, 0.71], "tree", "right"),
                                    ([1.05, 1.06, 1.05, 1.07, 1.06, 1.05], "tree", "even"), ([1.3], "tree", "wrong")):
            with self.subTest(chose=chose, word=word, ratios=ratios):
                turns = Pairs()
                for start, ratio in enumerate(ratios):
                    turns.add(start, ratio)
                self.assertEqual(judging.verdict(cell, 2.5, 2.0, chose, (0.1, 0.1), turns)[0], word)

    def test_only_a_choice_that_looks_wrong_by_little_is_measured_again(self):
        for tree, own, chose, again in ((2.5, 2.0, "tree", True), (2.7, 2.0, "tree", False), (2.5, 2.0, "hosts", False), (2.1, 2.0, "tree", False)):
            with self.subTest(tree=tree, own=own, chose=chose):
                self.assertEqual(bool(judging.undecided([judged(tree, own, chose)[0]])), again)

    def test_a_tree_that_failed_is_no_even_match(self):
        _, results = judged(2.0, 4.0, "tree")
        results.cell("4h-500us-switch-4KiB", "sumac").failures.append("it hung")
        row = next(row for row in judging.judge(cells(), results) if row.cell.size == 4 << 10)
        self.assertEqual((row.verdict, row.why), ("wrong", "it hung"))

    def test_the_json_says_what_was_held_against_what(self):
        row, results = judged(2.0, 4.0, "tree")
        entry, = judging.entries([row], results)
        self.assertEqual([entry[key] for key in ("case", "unit", "sumac", "limit", "won", "chose", "ok", "best_peer_ms")],
                         ["4h-500us-switch-4KiB", "ms", 2.0, 1.4096, "tree", "tree", True, 4.0])

    def test_the_table_marks_who_won_and_what_was_chosen(self):
        for tree, own, chose, floor, text in ((2.0, 4.0, "tree", (0.1, 0.1), "**2.00 x1.42** tree"), (4.0, 2.0, "tree", (0.1, 0.1), "4.00 x2.84 tree WRONG"),
                                              (2.0, 2.1, "hosts", (0.1, 0.1), "2.00 x1.42 hosts ="), (2.0, 4.0, "tree", (9.0, 0.1), "2.00 x1.42 tree ~")):
            row, _ = judged(tree, own, chose, floor)
            head, _, line = table.table([row])
            self.assertIn(f" {text} ", line)
            self.assertIn("500 us", line)
            self.assertEqual(head.count("|"), line.count("|"))

    def test_what_is_judged_is_counted(self):
        rows = [judged(2.0, 4.0, "tree")[0], judged(4.0, 2.0, "tree")[0], judged(2.0, 4.0, "tree", (9.0, 9.0))[0]]
        self.assertEqual(table.sums(rows)[0], {"right": 1, "even": 0, "wrong": 1, "cores": 1})


if __name__ == "__main__":
    unittest.main()
