"""One emulated fabric: up, programs inside it, its drop counters, down. The work is `sumac lab`'s; here is how it is called."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from harness.processes import end, start  # noqa: E402  pylint: disable=wrong-import-position


class LabError(Exception):
    """One line for the person at the keyboard: what could not be done and why."""


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.end - time.monotonic())


def last_words(text):
    """The line that says what went wrong: the last one that is no mpirun decoration and not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("-----")]
    own = [line for line in lines if line.startswith(("sumac", "collbench", "sharp-client", "baretree", "sharp_"))]
    return (own or lines or ["no message"])[-1][:300]


class Lab:
    """`with Lab(...) as lab:` brings it up and always takes it down."""

    def __init__(self, sumac, fabric_file, name, log_path, bare=False, share=None):
        self.sumac, self.fabric_file, self.name, self.log_path, self.bare = sumac, fabric_file, name, log_path, bare
        self.share = share  # A folder that the lab's hosts can see even if it lies below /tmp.
        self.before = None  # The lab of another build, which runs beside this one.
        self.holder = None

    def command(self, verb, *words):
        return [str(self.sumac), "lab", verb, "--name", self.name, *[str(w) for w in words]]

    def exec_command(self, place, argv):
        return self.command("exec", place, "--", *argv)

    def status(self):
        done = subprocess.run(self.command("status", "--json"), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=30, check=False)
        if done.returncode != 0:
            raise LabError(f"sumac lab status: {last_words(done.stderr)}")
        return json.loads(done.stdout)

    def drops(self):
        return self.status()["drops"] + (self.before.drops() if self.before else 0)

    def nodes(self):
        """Where each node sits: {name: (place, address)}."""
        return {node["name"]: (node["place"], node["address"]) for node in self.status()["nodes"]}

    def mpirun_command(self, argv):
        return self.command("mpirun", *argv)

    def __enter__(self):
        arguments = ["up", "--foreground", self.fabric_file] + (["--bare"] if self.bare else []) + (["--share", str(self.share)] if self.share else [])
        self.log = open(self.log_path, "w+b")
        # Its own process group: Ctrl-C reaches us, and we take the lab down after the programs inside it.
        self.holder = start(self.command(*arguments), stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)
        try:
            self._wait_until_up(Deadline(60))
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_up(self, deadline):
        """`up` prints a line when the fabric stands, its daemons included, or ends with the reason."""
        os.set_blocking(self.holder.stdout.fileno(), False)
        seen = b""
        while b"\n" not in seen:
            if self.holder.poll() is not None:
                self.log.seek(0)
                raise LabError(f"the lab did not come up: {last_words(self.log.read().decode(errors='replace'))}")
            if not deadline.left():
                raise LabError(f"the lab {self.fabric_file} did not come up in 60 s: see {self.log_path}")
            wait_readable(self.holder.stdout, min(0.2, deadline.left()))
            seen += self.holder.stdout.read() or b""

    def __exit__(self, *_):
        waiting = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half a lab behind
        try:
            self._down()
        finally:
            signal.signal(signal.SIGINT, waiting)

    def _down(self):
        subprocess.run(self.command("down"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
        end(self.holder, grace=10)
        self.log.close()


def wait_readable(pipe, seconds):
    return bool(select.select([pipe], [], [], seconds)[0])


def run(command, seconds, cwd=None):
    """(exit status, stdout, stderr) of a program, ended after `seconds`; status None: it had to be ended."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # the group is ours: mpirun and what it started here
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        return None, out, err
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        end(process)
        raise
