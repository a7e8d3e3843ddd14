import unittest

from core import pairs


class Interval(unittest.TestCase):
    def test_it_holds_the_median_and_is_the_same_each_time(self):
        groups = [[1.9, 2.0, 2.1], [2.0, 2.2], [1.8, 2.0, 2.0]]
        low, high = pairs.interval(groups)
        self.assertTrue(1.8 <= low <= 2.0 <= high <= 2.2, (low, high))
        self.assertEqual(pairs.interval(groups), (low, high))

    def test_starts_that_differ_widen_it(self):
        within = pairs.interval([[1.0, 1.0, 3.0, 3.0]] * 8)
        between = pairs.interval([[1.0] * 4, [3.0] * 4])
        self.assertEqual(between, (1.0, 3.0))
        self.assertLessEqual(within[1] - within[0], between[1] - between[0])

    def test_one_pair_has_no_interval(self):
        self.assertIsNone(pairs.interval([]))
        self.assertIsNone(pairs.interval([[2.0], []]))


class State(unittest.TestCase):
    def test_a_pair_counts_if_all_its_round_trips_lie_within_20_percent(self):
        for first, second, same in (((100, 100), (119, 100), True), ((100, 100), (100, 121), False), ((100, 130), (100, 130), False),
                                    ((0, 0), (0, 0), True)):
            self.assertEqual(pairs.same_state({"round_trip_ns": first}, {"round_trip_ns": second}), same, (first, second))


class Pairs(unittest.TestCase):
    def test_values_of_all_starts_count(self):
        some = pairs.Pairs()
        for start, ratio in ((0, 2.0), (0, 3.0), (1, 4.0)):
            some.add(start, ratio)
        self.assertEqual((some.values, some.ratio), ([2.0, 3.0, 4.0], 3.0))


class Turns(unittest.TestCase):
    def test_who_goes_first_changes_and_the_pair_keeps_its_order(self):
        asked = []
        out = list(pairs.take_turns(3, lambda: asked.append("bare") or len(asked), lambda: asked.append("ours") or len(asked)))
        self.assertEqual(asked, ["bare", "ours", "ours", "bare", "bare", "ours"])
        self.assertEqual(out, [(1, 2), (4, 3), (5, 6)])


if __name__ == "__main__":
    unittest.main()
