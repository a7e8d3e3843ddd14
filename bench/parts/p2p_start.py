"""Starts the members of a group of src/p2p, and carries their blobs: each writes a line `blob HEX`, and reads the lines of all."""

import dataclasses
import subprocess
import threading
import time

from demolib.lab import start as start_process


@dataclasses.dataclass
class Ended:
    code: int
    lines: list  # its lines on stdout behind the blob
    error: str


def run(commands, seconds):
    """Runs one command for each rank to its end; returns their outcomes in the order of ranks. Past the time all are killed."""
    members = [start_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for command in commands]
    timer = threading.Timer(seconds, lambda: [member.kill() for member in members])
    timer.start()
    until = time.monotonic() + seconds
    try:
        blobs = [member.stdout.readline().removeprefix("blob ") for member in members]
        for member in members:
            try:
                member.stdin.write("".join(blobs))
                member.stdin.close()
            except BrokenPipeError:
                pass  # It has ended; its exit status and its words say why.
            member.stdin = None
        outcomes = []
        for member in members:
            out, error = member.communicate()
            outcomes.append(Ended(member.returncode, out.splitlines(), error))
    finally:
        timer.cancel()
    if time.monotonic() >= until:
        raise AssertionError(f"members still ran after {seconds} s: {[outcome.lines[-1:] or outcome.error for outcome in outcomes]}")
    return outcomes
