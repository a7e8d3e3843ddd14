"""Manager and sharpds are killed again and again under jobs with SUMAC_RECOVERY=1 (tests/mpi/goes_on.c), and started again a second later; every third
time a node was killed shortly before. No operation fails, and the slowest take as long as those of a job under which the daemons of another lab meet the
same: starting them costs the machine as much there. FAULT_KILLS: so many in all instead of 200."""

import math
import os
import pathlib
import random
import sys
import time

from goes_on import DEMO, await_tree, case, daemons_of, job_of, nodes_of
from harness.rows import cases
from killer import Killer
from ways import Ways

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from core.pairs import Pairs, take_turns  # noqa: E402  pylint: disable=wrong-import-position

RANKS, SECONDS, KILLS = 16, 40, 200
SLOWER_MAX = 1.5
VIOLATIONS_MAX = 20  # Then it is clear enough.
BACK_WITHIN_S = 30


def p99_ms(job):
    took = sorted(end - begin for rank in range(job.ranks) for begin, end, _ in job.spans(rank))
    return took[math.ceil(0.99 * len(took)) - 1] / 1e6


class Campaign:
    """`job_lab` has the job and the nodes that die; `lab` has the manager and the sharpds that do."""

    def __init__(self, job_lab, lab):
        self.job_lab, self.daemons, self.nodes, self.turn = job_lab, Killer(lab), Killer(job_lab), 0
        self.names = sorted(nodes_of(job_lab))
        self.kills = self.in_recovery = self.violations = self.operations = 0

    def victims(self):
        """The manager, a sharpd or both, in turns."""
        manager, hosts = daemons_of(self.daemons.lab, "sharp_am"), sorted(daemons_of(self.daemons.lab, "sharpd").items())
        return [*manager.items()][:self.turn % 3 != 1] + [hosts[self.turn % len(hosts)]][:self.turn % 3 != 0]

    def strike(self, ways, job):
        """One or two kills, and perhaps a recovery that they meet."""
        is_recovery = self.turn // 3 % 3 == 2
        victims = self.victims()
        if is_recovery:
            node = self.names[self.turn % len(self.names)]
            self.nodes.kill(node, nodes_of(self.job_lab)[node])
            time.sleep(random.uniform(0, 0.1))
        for victim in victims:
            self.daemons.kill(*victim)
        self.daemons.settle()
        self.nodes.settle()
        is_back = ways.returned(time.monotonic() + BACK_WITHIN_S, job) is not None
        self.turn += 1
        self.kills += len(victims)
        self.in_recovery += is_recovery * len(victims)
        words = " and ".join(name for name, _ in victims) + (f" after {node}" if is_recovery else "")
        print(f"{words} killed: {'operations go through a tree' if is_back else 'no operation goes through a tree'}", flush=True)

    def one_job(self):
        """Returns the 99th percentile of an operation in ms; NaN if the job did not end right."""
        await_tree(self.job_lab, is_whole=True)
        with job_of(self.job_lab, RANKS, SECONDS) as job:
            wrong = "" if job.begins() else f"it did not begin: {job.text()}"
            if not wrong:
                until, ways = time.monotonic() + SECONDS - 4, Ways(job)
                while time.monotonic() < until and job.process.poll() is None:
                    time.sleep(random.uniform(0, 0.5))  # So the kill comes at any moment of the loop.
                    self.strike(ways, job)
                ways.close()
                wrong = job.end()
            if wrong:
                self.violations += 1
                print(wrong, flush=True)
                return math.nan
            self.operations += job.operations()
            return p99_ms(job)


def daemon_kills(rows):
    random.seed(7)
    kills = int(os.environ.get("FAULT_KILLS", KILLS))
    pairs = Pairs()
    lab, other = case.Lab("daemon-kills", DEMO), case.Lab("daemon-kills-other", DEMO)
    lab.up()
    try:
        other.up()
        ours, control = Campaign(lab, lab), Campaign(lab, other)
        for turn, (theirs, mine) in enumerate(take_turns(kills, control.one_job, ours.one_job)):
            print(f"99th percentile of an operation: {mine:.1f} ms, {theirs:.1f} ms where daemons of another lab are killed", flush=True)
            if not math.isnan(mine + theirs):
                pairs.add(turn, mine / theirs)
            if ours.kills >= kills or ours.violations + control.violations >= VIOLATIONS_MAX:
                break
    finally:
        other.down()
        lab.down()
    rows.add("daemon-kills", "jobs that did not end right", ours.violations + control.violations, 0, trials=ours.kills, operations=ours.operations,
             in_recovery=ours.in_recovery, control=control.kills)
    rows.add("daemon-kills-p99", "x of the control's", pairs.ratio or math.nan, SLOWER_MAX, trials=len(pairs.values), interval=pairs.interval)


cases(__doc__, daemon_kills)
