"""Helpers of the attacks: rows of results, daemons that end with the program, and strangers: functions that run as another user.
    import common
    def attack(rows, args):
        house = common.House("sharpd-places")
        got = common.Stranger(knock, str(house.socket)).result()
        rows.add("sharpd-places: strangers served", "of 10", got, 0)
    common.main(attack, __doc__)
"""

import argparse
import encodings.idna  # noqa: F401  pylint: disable=unused-import  # a stranger may not be able to read Python's folders: no import later on
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import traceback


def build_of(words):
    """Finds `--build`, which is needed before main(): the modules imported below look for programs there."""
    for at, word in enumerate(words):
        if word == "--build" and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--build="):
            return word[len("--build=") :]
    return os.environ.get("SUMAC_BUILD", "build/dev")


os.environ["SUMAC_BUILD"] = build_of(sys.argv)
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.rows import Rows, exceeds, line_of  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

case = ground.case
until = ground.until
BIN = ground.BIN
SOURCE = pathlib.Path(__file__).resolve().parents[2]
UID = 65534  # the user nobody: an ordinary user of the machine, in no group of ours
# Use: subprocess.run(command, **common.AS_STRANGER)
AS_STRANGER = {"user": UID, "group": UID, "extra_groups": []}


def source_of_build():
    """Returns the tree whose programs are attacked; with --build it may be another one than ours."""
    cache = (pathlib.Path(case.BUILD) / "CMakeCache.txt").read_text(encoding="utf-8")
    return pathlib.Path(re.search(r"CMAKE_HOME_DIRECTORY:INTERNAL=(.*)", cache)[1])


def memory_of(process, line="VmRSS"):
    """Returns bytes, from a line of the kernel's: VmRSS is now, VmHWM the most so far."""
    return 1024 * int(re.search(rf"{line}:\s+(\d+) kB", ground.read(f"/proc/{process.pid}/status").decode())[1])


class House(ground.House):
    """Daemons in a directory that every user may enter."""

    def __init__(self, name, **more):
        os.chmod(ground.SCRATCH, 0o755)
        super().__init__(name, **more)


def house_with_open_manager(name, **more):
    """Starts a manager that strangers reach: by its unix socket, or (older trees keep that closed) by TCP in clear text."""
    house = House(name, **more)
    if os.stat(house.manager.removeprefix("unix:")).st_mode & 0o002:
        return house
    house.close()
    return House(f"{name}-tcp", listen="127.0.0.1:0", **more)


class Stranger:
    """Runs function(*words) in a process of its own as an ordinary user; its return value (which JSON must be able to express) is the
    result. The process ends with us. `uid=None` keeps our user."""

    def __init__(self, function, *words, uid=UID):
        if uid is not None and os.geteuid() != 0:
            case.skip_or_fail("only root starts a process as another user")
        self.out, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.out)
            self.become(function, words, uid, write)
        os.close(write)

    @staticmethod
    def become(function, words, uid, write):
        code = 1
        try:
            JANITOR.forget()
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            ground.dies_with_us()  # the call must follow setresuid(), which resets it
            answer = json.dumps(function(*words)).encode()
            while answer:
                answer = answer[os.write(write, answer) :]
            code = 0
        except BaseException:  # pylint: disable=broad-exception-caught  # also SystemExit: the parent's clean-up is not ours
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def result(self, seconds=60):
        """Waits for the end of the process."""
        text = b""
        while True:
            if not select.select([self.out], [], [], seconds)[0]:
                self.end()
                raise AssertionError(f"a stranger still runs after {seconds} s")
            got = os.read(self.out, 1 << 16)
            if not got:
                break
            text += got
        os.close(self.out)
        _, status = os.waitpid(self.pid, 0)
        if status != 0:
            raise AssertionError(f"a stranger ended with status {os.waitstatus_to_exitcode(status)}; its own words are above")
        return json.loads(text)

    def end(self):
        """Kills the process."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.out)


class Janitor:
    """A process that cleans up when ours has ended, also by SIGKILL: it waits for the end of a pipe that no other process has."""

    def __init__(self):
        read, self.write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.write)
            os.setsid()  # a signal to our group must not reach it
            nowhere = os.open(os.devnull, os.O_RDWR)
            for fd in range(3):
                os.dup2(nowhere, fd)
            while os.read(read, 1):
                pass
            ground.sweep()
            os._exit(0)
        os.close(read)

    def forget(self):
        """Call it in a fork of ours: the copy of the pipe would keep the janitor waiting."""
        os.close(self.write)

    def clean(self):
        os.close(self.write)
        os.waitpid(self.pid, 0)


JANITOR: Janitor


def begun(function, *words, uid=UID):
    """Starts a stranger and returns once its first step is done: function(*words, go) then writes a byte to the descriptor `go`."""
    heard, said = os.pipe()
    stranger = Stranger(function, *words, said, uid=uid)
    os.close(said)
    with os.fdopen(heard, "rb") as wait:
        if wait.read(1) != b"!":
            raise AssertionError("a stranger did not begin; its own words are above")
    return stranger


def hold(*_held):
    """Keeps what a stranger's process holds until we end it."""
    while True:
        signal.pause()


def try_program(command, at_once=1, seconds=5):
    """Starts the program so many times, and ends those that do not end by themselves."""
    tries = [ground.processes.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(at_once)]
    end = time.monotonic() + seconds
    for process in tries:
        try:
            process.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return at_once


def many_descriptors(count):
    """Raises the limit of descriptors, since attacks hold thousands of connections; returns the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def free_port():
    """Returns a port that is free now. A test that can let a daemon choose (port 0) should do that instead."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(attack, words):
    """Runs attack(rows, args) and ends the process: status 1 if a row is violated or the attack could not be run."""
    global JANITOR  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ["SUMAC_BUILD"], help="build folder whose programs are attacked (build/dev)")
    parser.add_argument("--long", action="store_true", help="the long form, as `make guard` runs it")
    parser.add_argument("--before", help="build folder of an older tree, for those who compare with one")
    parser.add_argument("--out", help="write the rows here, as JSON")
    args = parser.parse_args()
    JANITOR = Janitor()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = Rows()
    try:
        attack(rows, args)
        if not rows.rows:
            raise AssertionError("the attack added no row")
    finally:
        if args.out:
            rows.write(args.out)
        JANITOR.clean()
    sys.exit(1 if rows.violated() else 0)
