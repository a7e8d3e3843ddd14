"""example-ucx between two hosts of a lab: every way and every datatype arrives as it was sent."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = case.BUILD / "bin/example-ucx"
RIGHT = ["tags, contiguous", "tags, list of pieces", "tags, own type", "stream", "active message, small", "active message, large"]
if not PROGRAM.exists():
    case.skip_or_fail("built without UCX (libucx-dev)")


class BetweenTwoHosts(case.OnLab):
    lab = case.Lab("example-ucx")
    up_words = ("--bare",)

    def test_all_ways_and_datatypes(self):
        address = self.lab("exec", "h3", "--", "sh", "-c", "ip -4 -o addr show scope global | sed 's/.*inet //; s|/.*||' | head -n 1").out.strip()
        words = self.lab.command("exec", "h3", "--", PROGRAM, address, "7701")
        with case.processes.start(words, stdout=case.processes.PIPE, stderr=case.processes.PIPE, text=True) as server:
            self.assertEqual(server.stdout.readline(), "listening\n", server.stderr.read() if server.poll() is not None else "")
            done = self.lab("exec", "h1", "--", PROGRAM, address, "7701", "peer", seconds=60)
            out, err = server.communicate(timeout=60)
        self.assertEqual((done.code, done.out), (0, "all sent\n"), done.text)
        self.assertEqual((server.returncode, out.splitlines()), (0, [f"{what}: right" for what in RIGHT]), err)

    def test_wrong_words_and_nobody_there(self):
        done = case.start([PROGRAM, "h1"])
        self.assertEqual((done.code, done.err), (2, "usage: example-ucx ADDRESS PORT [peer]\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
