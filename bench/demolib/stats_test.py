import unittest

from demolib.stats import Cell, Results, median


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

    def test_best_tuned_is_the_fastest_of_them_and_never_the_default(self):
        results = Results()
        results.cell("a", "Open MPI default").values.append(1.0)
        self.assertIsNone(results.best_tuned("a"))
        results.cell("a", "Open MPI allreduce 1").values.append(5.0)
        results.cell("a", "Open MPI allreduce 4").values.append(4.0)
        results.cell("a", "Open MPI allreduce 6")  # never ran
        self.assertEqual(results.best_tuned("a"), "Open MPI allreduce 4")


if __name__ == "__main__":
    unittest.main()
