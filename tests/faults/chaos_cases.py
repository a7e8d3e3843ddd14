"""`sumac chaos` on hosts with little memory and short queues, until each kind of fault has come at least 50 times: no job has a wrong result, and
none hangs."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from harness.rows import cases  # noqa: E402  pylint: disable=wrong-import-position

MINUTES = 12  # In which some 360 faults of six kinds begin.
EACH, SEED = 50, 5
SECONDS_MAX = (MINUTES + 10) * 60


def counts(line):
    """What a line such as "faults: node killed 52, link cut 80" counts."""
    return {what.strip(): int(number) for what, number in re.findall(r"([a-z ]+) (\d+)(?:,|$)", line.split(":", 1)[1])}


def chaos(rows):
    done = case.start([case.SUMAC, "chaos", "--minutes", MINUTES, "--seed", SEED, pathlib.Path(__file__).parent / "poor-4h.yaml"], seconds=SECONDS_MAX)
    print(done.text, flush=True)
    faults = re.search(r"^faults: .*$", done.text, re.MULTILINE)
    jobs = re.search(r"^jobs: .*?(\d+) wrong, (\d+) hung$", done.text, re.MULTILINE)
    if not faults or not jobs:
        raise AssertionError(f"chaos did not end in order: {done.text}")
    each = counts(faults[0])
    rows.add("chaos-each", "jobs wrong or hung", sum(map(int, jobs.groups())), 0, trials=min(each.values()), faults=each)
    rows.add("chaos-each-kinds", f"kinds of faults with fewer than {EACH}", sum(number < EACH for number in each.values()), 0)


cases(__doc__, chaos)
