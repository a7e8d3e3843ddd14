import unittest

from host import stats


class State(unittest.TestCase):
    def test_a_pair_counts_if_all_its_round_trips_lie_within_20_percent(self):
        for first, second, same in (((100, 100), (119, 100), True), ((100, 100), (100, 121), False), ((100, 130), (100, 130), False),
                                    ((0, 0), (0, 0), True)):
            self.assertEqual(stats.same_state({"round_trip_ns": first}, {"round_trip_ns": second}), same, (first, second))


if __name__ == "__main__":
    unittest.main()
