#!/usr/bin/env python3
"""`make demo` names the packages that it is about to install, and on a terminal waits so that a person can stop it."""

import os
import pty
import re
import select
import signal

import common
import recorder


class Terminal:
    """A program with a terminal of its own, whose keys we press."""

    def __init__(self, root, *words, more=None):
        self.pid, self.keys = pty.fork()
        if self.pid == 0:
            common.JANITOR.forget()
            os.chdir(root.folder)
            os.execvpe(words[0], words, {**root.environment, **(more or {})})
        self.seen = ""

    def sees(self, words, seconds=60):
        while not re.search(words, self.seen):
            if not select.select([self.keys], [], [], seconds)[0]:
                raise AssertionError(f"never said {words!r}: {self.seen}")
            try:
                self.seen += os.read(self.keys, 4096).decode(errors="replace")
            except OSError as end:  # the other end of the terminal is closed
                raise AssertionError(f"never said {words!r}: {self.seen}") from end

    def press(self, key):
        os.write(self.keys, key)

    def ended(self):
        """Returns the exit status; further output is read, or the program could wait for us."""
        try:
            while select.select([self.keys], [], [], 60)[0]:
                self.seen += os.read(self.keys, 4096).decode(errors="replace")
        except OSError:
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.keys)
        return code


def attack(rows, _args):
    recorder.dpkg_or_skip()
    root = recorder.Root("announced-packages")
    setup = ("make", "setup")
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    stopped = Terminal(root, *setup)
    stopped.sees("installing [0-9]+ packages: .*build-essential")
    stopped.sees("Ctrl-C")
    stopped.press(b"\x03")
    code = stopped.ended()
    rows.add("announced-packages: Ctrl-C did not stop it", "runs", int(code == 0), 0)
    rows.add("announced-packages: calls of apt-get in spite of Ctrl-C", "calls", len(root.calls("apt-get")), 0)

    goes_on = Terminal(root, *setup)
    goes_on.sees("Ctrl-C")
    rows.add("announced-packages: calls of apt-get before anybody could stop it", "calls", len(root.calls("apt-get")), 0)
    goes_on.press(b"\n")
    rows.add("announced-packages: Enter did not let it go on", "runs", int(goes_on.ended() != 0 or not root.calls("apt-get")), 0)

    for name, more in (("in CI", {"CI": "true"}), ("without a terminal", None)):
        root.record.write_text("")
        if more:
            code, said = (quiet := Terminal(root, *setup, more=more)).ended(), quiet.seen
        else:
            done = root.run(*setup)
            code, said = done.returncode, done.stderr
        waited = code != 0 or not root.calls("apt-get") or "Ctrl-C" in said
        rows.add(f"announced-packages: waits {name}", "runs", int(waited), 0)


common.main(attack, __doc__)
