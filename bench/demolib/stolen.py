"""What the host of a virtual machine has taken of its processors for others (`steal` in /proc/stat): times measured meanwhile say little."""

from pathlib import Path


def ticks(text):
    """(taken, all) since boot, from the first line of /proc/stat."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]  # user nice system idle iowait irq softirq steal
    return fields[7] if len(fields) > 7 else 0, sum(fields)


def percent(before, after):
    """The share taken between two readings of ticks()."""
    return 100 * (after[0] - before[0]) / (after[1] - before[1]) if after[1] > before[1] else 0.0


def now():
    try:
        return ticks(Path("/proc/stat").read_text())
    except OSError:  # not Linux, or a container that hides it
        return 0, 0


class Stolen:
    """`Stolen()` at the beginning, `words()` at the end: "" below half a percent."""

    def __init__(self):
        self.before = now()

    def words(self):
        share = percent(self.before, now())
        return f"{share:.0f} % of its time taken by others (steal)" if share >= 0.5 else ""
