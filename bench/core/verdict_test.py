import io
import unittest
from contextlib import redirect_stdout

from core import verdict as V
from core.table import entry


class Judging(unittest.TestCase):
    def test_all_conditions_hold_or_it_fails_and_every_one_is_told(self):
        for given, expected in (((), (V.REPORTED, "no target")), (((True, "a"),), (V.PASS, "a")),
                                (((True, "a"), (False, "b")), (V.FAIL, "a; b")), (((False, "a"), (True, "b")), (V.FAIL, "a; b"))):
            judged = V.Judgement()
            for good, words in given:
                judged.hold(good, words)
            self.assertEqual(judged.result(), expected)


class Complaints(unittest.TestCase):
    def told(self, verdict, sumac=1.0, **failures):
        one = entry("case", "ms", sumac, {}, None, None, failures={column: [why] for column, why in failures.items()},
                    **V.keys(verdict, "why", "<= 1"))
        out = io.StringIO()
        with redirect_stdout(out):
            return V.complain([one], lambda column: column == "peer"), out.getvalue()

    def test_the_exit_status_and_the_words(self):
        must = "case: must hold <= 1: why\n"
        for given, expected in (((V.PASS,), (0, "")), ((V.REPORTED,), (0, "")), ((V.FAIL,), (1, must)), ((V.OPEN,), (1, must)),
                                ((V.OPEN, None), (1, ""))):
            self.assertEqual(self.told(*given), expected, given)

    def test_a_peer_that_failed_is_told_and_is_not_our_failure(self):
        self.assertEqual(self.told(V.PASS, peer="hung"), (0, "case: peer: hung\n"))
        self.assertEqual(self.told(V.PASS, bare="hung"), (1, "case: bare: hung\n"))
        self.assertEqual(self.told(V.FAIL, sumac="wrong"), (1, "case: must hold <= 1: why\n"))


if __name__ == "__main__":
    unittest.main()
