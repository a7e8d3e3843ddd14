"""Kills daemons of a lab, and starts each again a second later."""

import os
import signal
import threading
import time

from goes_on import change

STARTED_AFTER_S = 1


class Killer:
    def __init__(self, lab):
        self.lab, self.starts, self.failed = lab, [], []

    def kill(self, name, pid):
        """Returns when."""
        began = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        self.starts.append(threading.Timer(STARTED_AFTER_S, self._start, (name,)))
        self.starts[-1].start()
        return began

    def _start(self, name):
        try:
            change(self.lab, "daemon", name, "start")
        except AssertionError as why:
            self.failed.append(f"{name} was not started again: {why}")

    def settle(self):
        """All daemons run."""
        for start in self.starts:
            start.join()
        self.starts = []
        assert not self.failed, self.failed
