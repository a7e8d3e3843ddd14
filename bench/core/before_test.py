import unittest

from core import before
from core.pairs import Pairs
from core.table import entry

FIVE = (1.0,) * before.PAIRS_MIN


def pairs(*ratios):
    out = Pairs()
    for start, ratio in enumerate(ratios):
        out.add(start, ratio)
    return out


def case(name, *ratios):
    return entry(name, "ms", 2.0, {}, None, None, **before.keys(pairs(*ratios) if ratios else None, 1.9))


class Before(unittest.TestCase):
    def test_only_an_interval_wholly_above_is_slower(self):
        for ratios, ok in (((1.04,) * 5, False), ((1.03,) * 5, True), ((0.5,) * 5, True), ((1.0, 1.5, 1.5, 1.5, 1.0), True), ((1.5,) * 4, None), ((), None)):
            self.assertEqual(case("a", *ratios)["before_ok"], ok, ratios)

    def test_the_summary_names_what_is_slower_and_what_nobody_knows(self):
        lines, status = before.summary([case("a", *FIVE), case("b", *(1.2,) * 5), case("c")])
        self.assertEqual((lines, status), (["b: 1.20 x before (1.20..1.20): all of it above 1.03", "Without an interval against before: c."], 1))
        self.assertEqual(before.summary([case("a", *FIVE)]), (["No case whose interval lies wholly above 1.03 x before, of 1."], 0))

    def test_the_inverse_keeps_its_starts(self):
        some = Pairs()
        some.add(3, 2.0)
        some.add(3, 4.0)
        self.assertEqual(before.inverse(some).starts, {3: [0.5, 0.25]})
        self.assertIsNone(before.inverse(None))

    def test_texts(self):
        self.assertEqual(before.texts(case("a", *FIVE)), ("1.90", "1.00", "1.00..1.00"))
        self.assertEqual(before.texts(entry("a", "ms", None, {}, None, None)), ("-", "-", "-"))


if __name__ == "__main__":
    unittest.main()
