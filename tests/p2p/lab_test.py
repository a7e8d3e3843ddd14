"""Groups without a tree between the hosts of an emulated fabric: right results of every kind, and a death that every member reports."""

import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from harness import case  # noqa: E402
from parts import p2p_start  # noqa: E402

FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "fabric-8h-onhosts.yaml"
lab = case.Lab("p2p", FABRIC)
HOSTS = [f"h{i}" for i in range(1, 9)]
MEMBER = case.BUILD / "tests" / "p2p-member"
HAS_UCX = (case.BUILD / "lib" / "libsumac_net_ucx.so").exists()


def run(*words, transport="tcp"):
    """Runs a member on each host; returns their last lines, in the order of ranks."""
    commands = [lab.command("exec", host, "--", "env", f"SUMAC_TRANSPORT={transport}", MEMBER, rank, len(HOSTS), *words)
                for rank, host in enumerate(HOSTS)]
    return [done.lines[-1] if done.lines else f"exit status {done.code}" for done in p2p_start.run(commands, seconds=60)]


class OnEightHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lab.up("--bare")

    @classmethod
    def tearDownClass(cls):
        lab.down()

    def assert_death_is_reported(self, lines):
        """Rank 5 killed itself in the middle of an operation. All others name it and its host."""
        for rank, line in enumerate(lines):
            if rank != 5:
                self.assertTrue(line.startswith("failed: "), line)
                self.assertIn("rank 5 (host h6)", line)
                self.assertIn("is lost", line)

    def test_every_kind_is_right_with_the_same_bits_over_tcp_and_ucx(self):
        over_tcp = run(40)
        for line in over_tcp:
            self.assertRegex(line, r"^right: 40 operations, results of this checksum: \w+$")
        if HAS_UCX:
            self.assertEqual(run(40, transport="ucx"), over_tcp)

    def test_a_death_is_reported_by_every_other_member(self):
        self.assert_death_is_reported(run(40, 5))

    @unittest.skipUnless(HAS_UCX, "built without UCX (libucx-dev)")
    def test_a_death_is_reported_over_ucx(self):
        self.assert_death_is_reported(run(40, 5, transport="ucx"))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
