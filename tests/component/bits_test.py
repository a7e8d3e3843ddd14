"""SUMAC_REPRODUCIBLE=1: eight ranks of an MPI program add up to the same bits wherever they are and whatever carries them."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

EIGHT_HOSTS = (("h[1-2]:", "h[1-4]:"), ("h[3-4]:", "h[5-8]:"))
# Hosts and ranks of each: one laptop, 2 x 4, 8 x 1, and hosts that are no nodes of the canonical tree.
PLACEMENTS = {"8": "h1:8", "2 x 4": "h1:4,h5:4", "8 x 1": ",".join(f"h{i}:1" for i in range(1, 9)), "3 and 5": "h1:3,h2:5"}


class Bits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        fabric = pathlib.Path(folder.name) / "fabric.yaml"
        text = case.Lab.FABRIC.read_text()
        for old, new in EIGHT_HOSTS:
            self.assertIn(old, text)
            text = text.replace(old, new)
        fabric.write_text(text)
        self.lab = case.Lab("bits", fabric)
        self.lab.up()
        self.addCleanup(self.lab.down)

    def bits(self, hosts, enable=1, **settings):
        exported = [word for name in settings for word in ("-x", f"{name}={settings[name]}")]
        done = self.lab("mpirun", "-n", "8", "--oversubscribe", "-H", hosts, *case.TCP, *case.YIELD, *case.component_flags(enable), *exported,
                        case.PROGRAMS / "bits", seconds=180)
        self.assertEqual(done.code, 0, done.text)
        return re.search(r"^bits: ([0-9a-f]{16}) on 8 ranks$", done.out, re.MULTILINE).group(1), done

    def test_a_sum_has_the_same_bits_for_all_placements_with_and_without_a_tree(self):
        found = {}
        for name, hosts in PLACEMENTS.items():
            for level in ("0", "3"):
                found[name, level], done = self.bits(hosts, SUMAC_REPRODUCIBLE="1", HCOLL_ENABLE_SHARP=level)
                if level == "3" and name in ("2 x 4", "8 x 1"):
                    self.assertGreater(done.tally["tree"], 0, done.text)
        for name in ("2 x 4", "8 x 1"):
            found[name, "interposed"], done = self.bits(PLACEMENTS[name], enable=0, SUMAC_REPRODUCIBLE="1", HCOLL_ENABLE_SHARP="0",
                                                        LD_PRELOAD=str(case.BUILD / "lib/libsumac_mpi_openmpi.so"))
            self.assertGreater(done.tally["leaders"], 0, done.text)
        self.assertEqual(len(set(found.values())), 1, found)


if __name__ == "__main__":
    case.main()
