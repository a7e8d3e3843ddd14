import signal
import subprocess
import sys
import unittest
from pathlib import Path

from core import clock

SCRIPT = """
import os, signal, sys
from core import clock
signal.signal(signal.SIGHUP, signal.{hangup})
clock.end_as_by_ctrl_c()
try:
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")
except KeyboardInterrupt as why:
    print("ends by", why.args[0])
"""


class EndAsByCtrlC(unittest.TestCase):
    def said(self, hangup):
        """Returns what a program says that gets a SIGHUP; a program of its own, since the disposition is the process's."""
        return subprocess.run([sys.executable, "-c", SCRIPT.format(hangup=hangup)], cwd=Path(__file__).resolve().parents[1], text=True,
                              capture_output=True, check=True).stdout.strip()

    def test_a_hangup_ends_a_program(self):
        self.assertEqual(self.said("SIG_DFL"), f"ends by {int(signal.SIGHUP)}")

    def test_nohup_is_kept(self):
        self.assertEqual(self.said("SIG_IGN"), "goes on")


class Clock(unittest.TestCase):
    def test_minutes_and_seconds(self):
        self.assertEqual((clock.clock(0), clock.clock(61.9), clock.clock(3600)), ("0:00", "1:01", "60:00"))


if __name__ == "__main__":
    unittest.main()
