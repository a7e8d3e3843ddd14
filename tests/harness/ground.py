"""Common ground of tests with real daemons: daemons of their own, a job that goes on meanwhile, and a
search for leftovers. Every process that a scenario starts inherits a mark in its environment and a TMPDIR of its own, so that its
leftovers are found anywhere, and other programs' processes or files are not mistaken for them."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from . import case, folders, processes
from .processes import dies_with_us

BIN = case.BUILD / "bin"
STEADY = case.BUILD / "tests" / "badinput" / "steady"
MARK = f"sumac-badinput-{os.getpid()}"
SCRATCH = folders.Folder("sumac-bad-", "/tmp").path
TMPDIR = SCRATCH / "tmp"
SETTINGS = {"BADINPUT_MARK": MARK, "TMPDIR": str(TMPDIR)}
ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
SHM_BEFORE = set(os.listdir("/dev/shm"))
MOUNTS_BEFORE = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
TMPDIR.mkdir()

FABRIC = "name: t\nswitches: [s]\nhosts: {localhost: {leaf: s}}\nnodes: {node: {switch: s}}\n"


def environment(more=None):
    return {**os.environ, **SETTINGS, **(more or {})}


def start(command, env=None, seconds=60):
    return case.start(command, {**SETTINGS, **(env or {})}, seconds)


def begin(command, env=None, **options):
    """Starts the command with our mark in its environment, its outputs in pipes; returns its Popen."""
    return processes.start(command, env=environment(env), text=True, stdout=processes.PIPE, stderr=processes.PIPE, **options)


def until(condition, what, seconds=30):
    """Waits for the condition, up to a bound that only a failure reaches."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""  # the process ended while we looked


def marked():
    """Returns our processes, in any namespace: {pid: its words}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if MARK.encode() in read(f"/proc/{pid}/environ"):
            found[int(pid)] = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")
    return found


def leftovers(allowed=()):
    left = [f"process {pid}: {words}" for pid, words in marked().items() if pid not in allowed]
    for folder, below, files in os.walk(TMPDIR):  # rglob() fails if a folder is removed while it looks
        left += [f"file {folder}/{name}" for name in below + files]
    new = set(os.listdir("/dev/shm")) - SHM_BEFORE
    left += [f"shared memory {name}" for name in (new - folders.mapped_shm() if new else ())]
    left += [f"socket {line.split()[-1]}" for line in read("/proc/net/unix").decode(errors="replace").splitlines() if MARK in line]
    left += [f"mount {line}" for line in read("/proc/self/mountinfo").decode().splitlines() if line not in MOUNTS_BEFORE]
    return left


def signal_group(process, number):
    """Signals the process's group, as a terminal does."""
    os.killpg(process.pid, number)


class House:
    """A manager, a node and a sharpd, each on a port or socket of its own on this machine. `listen` is the manager's address, am.sock in
    the folder by default; over TCP they talk in clear text unless `clear_text` is False. `words`: more options of a program, by its
    name; `under`: a command that starts it (valgrind). `programs`: the folder of another build's programs."""

    def __init__(self, name, descriptors=None, manager=True, node=True, sharpd=True, listen=None, words=None, fabric=FABRIC,
                 clear_text=True, under=None, programs=BIN):
        self.folder = SCRATCH / name
        self.folder.mkdir()
        (self.folder / "fabric.yaml").write_text(fabric)
        self.descriptors = descriptors
        self.processes = {}
        self.socket = self.folder / "sharpd.sock"
        self.manager = listen or f"unix:{self.folder}/am.sock"
        self.clear_text = ("--allow-insecure",) if clear_text and not self.manager.startswith("unix:") else ()
        self.words = words or {}
        self.under = under or {}
        self.programs = programs
        if manager:
            self.start_manager()
        if node:
            self.start_node()
        if sharpd:
            self.start_sharpd()

    def start_manager(self):
        # Each life has a log of its own, so that old lines do not count
        (self.folder / "sharp_am.log").unlink(missing_ok=True)
        self.start("sharp_am", "--fabric", self.folder / "fabric.yaml", "--listen", self.manager, *self.clear_text)
        self.manager = re.findall(r"listens on ([^\s;]+)", self.log("sharp_am"))[-1]

    def start_sharpd(self):
        self.start("sharpd", "--host", "localhost", "--manager", self.manager, "--socket", self.socket, "--log-level", "3",
                   *self.clear_text)

    def start_node(self, name="node"):
        self.start("sharp_an", "--name", name, "--manager", self.manager, "--listen", "127.0.0.1:0", "--log-level", "3", *self.clear_text)
        self.node_port = int(re.findall(r"listens on tcp:127\.0\.0\.1:(\d+)", self.log("sharp_an"))[-1])

    def start(self, program, *words, name=None, **options):
        """Returns when the daemon reports that it is ready. `name` tells several of one program apart; the options are Popen's (user)."""
        name = name or program

        def prepare():
            if self.descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

        command = [*self.under.get(program, ()), self.programs / program, *words, *self.words.get(program, ())]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name], ready = processes.start_ready(command, death=signal.SIGKILL, prepare=prepare, stdout=log, stderr=log,
                                                                    env=environment(), **options)
        if not ready:
            raise AssertionError(f"{name} does not get ready:\n{self.log(name)}")

    def log(self, program):
        return read(self.folder / f"{program}.log").decode(errors="replace")

    def says(self, program, words, seconds=30):
        return until(lambda: re.search(words, self.log(program)), lambda: f"{program} says '{words}':\n{self.log(program)}", seconds)

    def alive(self):
        return [name for name, process in self.processes.items() if process.poll() is None]

    def kill(self, program, number=signal.SIGKILL):
        process = self.processes.pop(program)
        process.send_signal(number)
        return process.wait(30)

    def descriptors_of(self, program):
        return len(os.listdir(f"/proc/{self.processes[program].pid}/fd"))

    def client(self, *command, env=None, seconds=60):
        return start(command, {"SHARP_COLL_SHARPD_SOCKET_NAME": str(self.socket), **(env or {})}, seconds)

    def job(self):
        return self.client(BIN / "example-allreduce", "3", "1000")

    def steady(self, ranks=3, **env):
        return Steady(ranks, {"SHARP_COLL_SHARPD_SOCKET_NAME": str(self.socket), **env})

    def close(self):
        order = ("sharpd", "sharp_an", "sharp_am")
        for name in sorted(self.processes, key=lambda name: order.index(name) if name in order else -1):
            self.processes[name].send_signal(signal.SIGCONT)
            self.kill(name, signal.SIGTERM)


class Tree(House):
    """Nodes an0 at the root, an1 and an2 at its leaves, and sharpds of h1 at the first leaf, h2 and h3 at the second."""

    FABRIC = ("name: tree\nswitches: [root, l1, l2]\nlinks: [{a: l1, b: root}, {a: l2, b: root}]\nroot: an0\n"
              "hosts: {h1: {leaf: l1}, h2: {leaf: l2}, h3: {leaf: l2}}\nnodes: {an0: {switch: root}, an1: {switch: l1}, an2: {switch: l2}}\n")

    def __init__(self, name, *options):
        super().__init__(name, node=False, sharpd=False, fabric=self.FABRIC, words={"sharp_am": ("--user-share-max-percent", "100", *options)})
        for node in ("an0", "an1", "an2"):
            self.start("sharp_an", "--name", node, "--manager", self.manager, "--listen", "127.0.0.1:0", "--log-level", "3", name=node)
        for host in ("h1", "h2", "h3"):
            self.start("sharpd", "--host", host, "--manager", self.manager, "--socket", self.socket_of(host), "--log-level", "3", name=host)

    def socket_of(self, host):
        return self.folder / f"{host}.sock"

    def steady_on(self, *hosts):
        """A job with a rank on each of the hosts."""
        return Steady(len(hosts), {}, [self.socket_of(host) for host in hosts])


class Steady:
    """A job (steady.c) that adds up numbers until it is asked to end, or cannot go on: without its tree it does not. `ready=False`: it may not
    get that far, so the constructor does not wait for it."""

    def __init__(self, ranks, env, sockets=(), ready=True):
        # It has ranks of its own, which a death by signal would leave alone: the end of its standard input ends it when we do.
        self.process = processes.start([STEADY, ranks, *sockets], death=None, env=environment({"SUMAC_RECOVERY": "0", **env}), text=True, stdin=processes.PIPE,
                                       stdout=processes.PIPE, stderr=processes.PIPE)
        self.pids, self.head = {}, ""
        for line in self.process.stdout:
            self.head += line
            found = re.match(r"steady: rank (\d+) pid (\d+)", line)
            if found:
                self.pids[int(found[1])] = int(found[2])
            if "ready" in line or not ready and len(self.pids) == ranks:
                return
        raise AssertionError(f"steady: {self.head}{self.process.communicate()[1]}")

    def ended(self, seconds=60):
        """Returns all its output, once it has ended by itself."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise AssertionError(f"steady still runs after {seconds} s: {self.process.communicate()}") from late
        out, err = self.process.communicate()
        return self.process.returncode, out, err

    def end(self):
        self.process.stdin.close()
        self.process.stdin = None
        return self.ended()


class Scenario(unittest.TestCase):
    maxDiff = None

    def good_job(self, house):
        done = house.job()
        self.assertEqual(done.code, 0, done.text + house.log("sharp_am") + house.log("sharpd"))
        self.assertIn("all sums exact", done.out)

    def one_line(self, text, *patterns):
        """Requires exactly one line that matches every pattern."""
        self.assertEqual(text.count("\n"), 1, f"more or less than one line: {text!r}")
        for pattern in patterns:
            self.assertRegex(text, pattern)
        self.assertLess(len(text), 320, "a line that nobody reads to its end")

    def nothing_left(self, house=None):
        allowed = [process.pid for process in house.processes.values()] if house else []
        until(lambda: not leftovers(allowed), lambda: "\n".join(["nothing is left behind:", *leftovers(allowed)]), 15)


def sweep():
    """Ends the processes with our mark and removes our files: a failed scenario must not leave them to the next."""
    for pid in marked():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    shutil.rmtree(SCRATCH, ignore_errors=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the sweep runs
    try:
        program = unittest.main(verbosity=2, exit=False)
    finally:
        sweep()
    sys.exit(not program.result.wasSuccessful())
