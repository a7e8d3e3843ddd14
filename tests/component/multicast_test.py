"""Results by multicast on the hosts of an emulated fabric: they arrive with the same sums; lost ones come by the links; late copies are
discarded; on a network without multicast everything goes on without it."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

CALLS = 400
SETTINGS = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_LOG_LEVEL": "4",
    "SHARP_COLL_STATS_DUMP_MODE": "2",
}
STOPPED = "got too few results by it before its link's"
ADDRESS = r"mgid: \( subnet prefix: 0xff12a01bfe800000 interface id: 0xefff[0-9a-f]+ \) mlid:c[0-9a-f]+"
ZEROS = "mgid: ( subnet prefix: 0x0 interface id: 0x0 ) mlid:0"


class Sums(unittest.TestCase):
    """There are four hosts on two leaves: a result takes three nodes and four links, or as a datagram from the root two links."""

    def run_on(self, change=(), **settings):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "fabric.yaml"
        text = case.Lab.FABRIC.read_text()
        for old, new in change:
            self.assertIn(old, text)
            text = text.replace(old, new)
        file.write_text(text)
        lab = case.Lab("multicast", file)
        lab.up()
        self.addCleanup(lab.down)
        settings = {**SETTINGS, **settings}
        exported = [word for name in settings for word in ("-x", name)]
        done = lab("mpirun", "-n", "4", *case.TCP, *case.YIELD, *case.component_flags(), *exported, case.PROGRAMS / "sums", "8", str(CALLS),
                   env=settings, seconds=180)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"sums: {CALLS} of 8 bytes right on 4 ranks", done.out, done.text)
        self.assertEqual(done.tally["allreduce"], CALLS, done.text)
        return done

    def heard(self, done):
        """Returns how many datagrams all ranks took, got late, and discarded."""
        # A sum would need MPI, which is over when the job ends
        ranks = re.findall(r"statistics of rank (\d): .*posted:.*", done.err)
        self.assertEqual(sorted(ranks), ["0", "1", "2", "3"], done.text)
        found = re.findall(r"multicast: taken:(\d+) late:(\d+) discarded:(\d+)", done.err)
        return tuple(sum(int(numbers[i]) for numbers in found) for i in range(3))

    def test_they_arrive_and_late_ones_are_thrown_away(self):
        done = self.run_on()
        self.assertRegex(done.err, ADDRESS)
        taken, late, discarded = self.heard(done)
        # Every result with a listener arrives once by multicast and once by link: the second of them changes nothing.
        self.assertGreater(taken, 0, done.text)
        self.assertLessEqual(taken + late, 4 * (CALLS + 10), done.text)
        self.assertEqual(discarded, 0, done.text)

    def test_what_is_lost_comes_by_the_links(self):
        done = self.run_on([("h[3-4]: {leaf: leaf2}", "h[3-4]: {leaf: leaf2, loss: 0.01}"), ("h[1-2]: {leaf: leaf1}", "h[1-2]: {leaf: leaf1, loss: 0.01}")])
        taken, late, _ = self.heard(done)
        self.assertGreater(taken, 0, done.text)
        self.assertLess(taken + late, 4 * (CALLS + 10), done.text)

    def test_a_network_that_swallows_them(self):
        done = self.run_on([("name: test-4h", "name: test-4h\nmulticast: false")])
        self.assertRegex(done.err, ADDRESS)  # the address is known before any member can know that nothing will arrive
        self.assertEqual(self.heard(done), (0, 0, 0), done.text)
        self.assertIn(STOPPED, done.err, done.text)

    def test_where_nobody_wants_them(self):
        done = self.run_on(SHARP_COLL_ENABLE_MCAST_TARGET="0")
        self.assertIn(ZEROS, done.err, done.text)
        self.assertEqual(self.heard(done), (0, 0, 0), done.text)


if __name__ == "__main__":
    case.main()
