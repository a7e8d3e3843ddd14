"""The progress line: which group is measured, and how long the rest takes."""

import sys

from core.clock import clock as clock_text


def guess_s(group):
    """For the progress line until something was measured: what this took on two cores."""
    turn_s = sum(0.006 + (0.02 if cell.bytes > 64 << 10 else 0) for cell in group.cells) * (1 if group.pinned else 8)
    return group.starts * (0.6 * (len(group.peers) + 1) * group.ranks / 2 + group.cycles * turn_s * max(1, 2 * len(group.peers)))


class Progress:
    def __init__(self, groups, clock):
        self.groups, self.clock, self.tty = groups, clock, sys.stdout.isatty()

    def __call__(self, group, start, cycle):
        later = sum(guess_s(other) for other in self.groups[self.groups.index(group) + 1:])
        left = guess_s(group) * (1 - (start + cycle / group.cycles) / group.starts) + later
        text = (f"[{clock_text(self.clock.elapsed)}, about {clock_text(left)} left] {group.name}: "
                f"start {start + 1} of {group.starts}, turn {cycle + 1} of {group.cycles}")
        if self.tty:
            print(f"\r{text:<78}", end="", flush=True)
        elif cycle == 0:
            print(text, flush=True)
