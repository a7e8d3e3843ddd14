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

    def test_others_are_told_from_a_tenth_on_and_the_busier_look_counts(self):
        for looks, words in (((0, 9), ""), ((0, 10), "other programs used 10 % of its processors"),
                             ((50, 5), "other programs used 50 % of its processors")):
            with mock.patch.object(stolen.Watch, "look", side_effect=looks), mock.patch.object(stolen.Stolen, "words", return_value=""):
                self.assertEqual(stolen.Watch().words(), words)
        with mock.patch.object(stolen.Watch, "look", return_value=20), mock.patch.object(stolen.Stolen, "words", return_value="3 % (steal)"):
            self.assertEqual(stolen.Watch().words(), "other programs used 20 % of its processors and 3 % (steal)")

    def test_used_is_neither_idle_nor_taken(self):
        self.assertEqual(stolen.used(self.FIRST), (160, 1000))

    def test_of_this_machine_can_be_read(self):
        taken, everything = stolen.now()
        self.assertLess(taken, everything)


if __name__ == "__main__":
    unittest.main()
