"""The output of the real tools on simulated fabrics is read, and gives good trees."""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import ibsim
from program import fabric


class Discovered(unittest.TestCase):
    # Each shape has: switches, links between them, hosts; then of the first tree: levels, links up at most.
    EXPECTED = {"leafspine": (6, 8, 16, 2, 1), "hypercube": (8, 12, 8, 4, 3), "dragonfly": (12, 18, 18, 3, 2), "rails": (3, 2, 4, 1, 0)}

    def check(self, shape):
        make, engine = ibsim.SHAPES[shape]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / f"{shape}.lst"
            file.write_text(ibsim.discover(make(), engine))
            done = fabric("show", file, "--trees", 2)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            switches, links, hosts, levels, depth = self.EXPECTED[shape]
            self.assertIn(f"fabric {shape}: {switches} switches, {links} links, {hosts} hosts, {switches} aggregation nodes, 1 plane\n",
                          done.stdout)
            self.assertRegex(done.stdout, rf"tree 1: root an-\w+, {levels} levels?, at most {depth} links? up, serves {hosts} of {hosts} hosts")
            roots = re.findall(r"tree \d: root (\S+),", done.stdout)
            self.assertEqual(len(set(roots)), 2, "two trees, two roots")
            # The switch of the second root, by its GUID, becomes the only candidate for roots.
            place = re.search(rf"^  {roots[1]} \(S-(\w+)\)", done.stdout, re.MULTILINE)[1]
            (pathlib.Path(folder) / "roots").write_text(f"# root switches\n0x{place}\n")
            again = fabric("show", file, "--root-guids", pathlib.Path(folder) / "roots")
            self.assertRegex(again.stdout, f"tree 1: root {roots[1]},", again.stderr)
            cut = file.read_text()
            file.write_text(cut[: len(cut) // 2])
            refused = fabric("show", file)
            self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count("\n")), (1, "", 1), refused.stderr)
            self.assertRegex(refused.stderr, rf"^sumac: {re.escape(str(file))}:\d+: .*cut short.*: make the file with")

    def test_fat_tree(self):
        self.check("leafspine")

    def test_hypercube(self):
        self.check("hypercube")

    def test_dragonfly_plus(self):
        self.check("dragonfly")

    def test_two_rails(self):
        self.check("rails")


if __name__ == "__main__":
    if missing := ibsim.missing():
        print(f"not installed: {', '.join(missing)}: packaging/install packaging/apt-dev.txt", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
