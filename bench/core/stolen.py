"""Reports whether the machine was busy with other work, because times measured meanwhile mean little. The host of a virtual machine takes
processors for other machines (`steal` in /proc/stat); other programs here use them while none of ours runs."""

import time
from pathlib import Path


def ticks(text):
    """Returns (taken, all) since boot, from the first line of /proc/stat."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]  # user nice system idle iowait irq softirq steal
    return fields[7] if len(fields) > 7 else 0, sum(fields)


def used(text):
    """Returns (busy, all) since boot, from the same line; busy is all but idle, iowait and steal."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
    return sum(fields[:3]) + sum(fields[5:7]), sum(fields)


def percent(before, after):
    """Returns the percentage taken between two readings of ticks()."""
    return 100 * (after[0] - before[0]) / (after[1] - before[1]) if after[1] > before[1] else 0.0


def now(read=ticks):
    try:
        return read(Path("/proc/stat").read_text())
    except OSError:  # The system is not Linux, or a container hides the file.
        return 0, 0


class Stolen:
    """Make it at the beginning and call `words()` at the end, which returns "" below half a percent."""

    def __init__(self):
        self.before = now()

    def words(self):
        share = percent(self.before, now())
        return f"{share:.0f} % of its time taken by others (steal)" if share >= 0.5 else ""


LOOK_S = 0.5  # Watch looks for so long
BUSY_PERCENT = 10  # Watch reports other programs from this percentage on


class Watch:
    """Make it before any of our programs runs, and call `words()` when none runs any more; it returns "" if the machine was ours alone."""

    def __init__(self):
        self.others, self.stolen = self.look(), Stolen()

    @staticmethod
    def look():
        """Returns the percentage of all processors that others use."""
        before = now(used)
        time.sleep(LOOK_S)
        return percent(before, now(used))

    def words(self):
        stolen = self.stolen.words()
        others = max(self.others, self.look())
        told = [f"other programs used {others:.0f} % of its processors"] if others >= BUSY_PERCENT else []
        return " and ".join(told + ([stolen] if stolen else []))
