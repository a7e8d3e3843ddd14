"""Reads what a program printed: its results, its bits and its own time; and compares results."""

import hashlib
import re
from pathlib import Path

from demolib.ways import WayFailed

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")


def found(patterns, text, what):
    """Returns the lines of the text that the patterns find, one behind the other. Raises WayFailed if there is none."""
    lines = [" ".join(one.group(0).split()) for pattern in patterns for one in re.finditer(pattern, text, re.M)]
    if not lines:
        raise WayFailed(f"it printed no {what}")
    return lines


def seconds(pattern, text, clock=False):
    """Returns the program's own time: the last number that the pattern finds; of a clock, less the first one."""
    numbers = re.findall(pattern, text, re.M)
    if not numbers:
        raise WayFailed("it printed no time")
    return float(numbers[-1]) - (float(numbers[0]) if clock else 0.0)


def bits(app, text, folder):
    """Returns a text that two runs have in common only if all bits are equal. Raises WayFailed if the program shows none."""
    if app.dump:
        file = Path(folder, app.dump)
        if not file.exists():
            raise WayFailed(f"it wrote no {app.dump}")
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return "\n".join(found((app.bits,), text, "bits"))


def difference(ours, theirs, tolerance, floor=0.0):
    """Returns a sentence about the first line that differs; "" if none does. Words must be equal; two numbers may differ by `tolerance` times the
    larger one, and numbers below `floor` are all alike."""
    if len(ours) != len(theirs):
        return f"{len(ours)} lines of results, not {len(theirs)}"
    for mine, other in zip(ours, theirs):
        if NUMBER.sub("#", mine) != NUMBER.sub("#", other) or not all(
                alike(a, b, tolerance, floor) for a, b in zip(NUMBER.findall(mine), NUMBER.findall(other))):
            return f"'{mine}', not '{other}'"
    return ""


def alike(one, other, tolerance, floor):
    a, b = (float(text.replace("d", "e").replace("D", "e")) for text in (one, other))
    return one == other or abs(a - b) <= max(tolerance * max(abs(a), abs(b)), floor)
