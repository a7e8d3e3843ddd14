import unittest

from core.cells import Cell, Results
from core.pairs import median


class Stats(unittest.TestCase):
    def test_median(self):
        for values, expected in (([], None), ([3], 3), ([3, 1], 2), ([5, 1, 3], 3), ([4, 1, 3, 2], 2.5)):
            self.assertEqual(median(values), expected)

    def test_a_cell_is_the_median_of_runs_with_its_spread(self):
        cell = Cell()
        self.assertIsNone(cell.value)
        self.assertIsNone(cell.spread)
        cell.values += [2.0, 9.0, 1.0]
        self.assertEqual((cell.value, cell.spread), (2.0, (1.0, 9.0)))

    def test_bare_is_the_faster_way_of_waiting(self):
        results = Results()
        self.assertIsNone(results.bare("a"))
        results.cell("a", "bare spin").values.append(2.5)
        self.assertEqual(results.bare("a"), "bare spin")
        results.cell("a", "bare epoll").values.append(2.4)
        self.assertEqual(results.bare("a"), "bare epoll")

    def test_the_fastest_column_has_a_number(self):
        results = Results()
        self.assertIsNone(results.fastest("a", ["x", "y"]))
        results.cell("a", "x").values.append(5.0)
        results.cell("a", "y").values.append(4.0)
        results.cell("a", "z")  # This column never ran.
        self.assertEqual(results.fastest("a", ["x", "y", "z", "not asked"]), "y")
        self.assertEqual(results.fastest("a", ["x"]), "x")

    def test_the_state_of_the_machine_is_no_column(self):
        results = Results()
        results.cell("a", "cacheline_ns").values.append(100.0)
        self.assertFalse(results.any())
        results.cell("a", "x").trips += [80, 100]
        results.cell("a", "y").trips.append(90)
        self.assertEqual((list(results.of("a")), results.trip_ns("a"), results.trip_ns("b")), (["x", "y"], 90, None))


if __name__ == "__main__":
    unittest.main()
