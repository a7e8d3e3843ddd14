import unittest
from unittest import mock

from . import stolen


class Taken(unittest.TestCase):
    FIRST = "cpu  100 0 50 800 0 0 10 40 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
    LATER = "cpu  160 0 70 850 0 0 10 110 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"

    def test_is_the_eighth_number_of_the_first_line_by_all_eight(self):
        first, later = stolen.ticks(self.FIRST), stolen.ticks(self.LATER)
        self.assertEqual((first, later), ((40, 1000), (110, 1200)))
        self.assertEqual(stolen.percent(first, later), 35.0)
        self.assertEqual(stolen.percent(first, first), 0.0)

    def test_is_told_from_half_a_percent_on(self):
        for taken, words in ((0, ""), (4, ""), (6, "1 % of its time taken by others (steal)"), (180, "18 % of its time taken by others (steal)")):
            with mock.patch.object(stolen, "now", side_effect=[(40, 1000), (40 + taken, 2000)]):
                self.assertEqual(stolen.Stolen().words(), words)

    def test_of_this_machine_can_be_read(self):
        taken, everything = stolen.now()
        self.assertLess(taken, everything)


if __name__ == "__main__":
    unittest.main()
