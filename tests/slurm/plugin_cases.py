#!/usr/bin/env python3
"""`srun --sumac` in a Slurm of three hosts: the tree, its cost, what a broken host does, and that nothing is left.
`--short`: what takes seconds."""

import os
import random
import statistics
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import case, ground, rows as results  # noqa: E402  pylint: disable=wrong-import-position

import cluster  # noqa: E402  pylint: disable=wrong-import-position
from without_cases import OPEN_MPI, SUMS, held_by  # noqa: E402  pylint: disable=wrong-import-position

PLUGIN = case.BUILD / "lib" / "slurm" / "sumac_slurm.so"
SIX = ["srun", "-N3", "-n6", "--ntasks-per-node=2"]
CANCELS = 50
PAIRS = 10
# A process inherits the user's variables, also that of root, so a user's step shows what a user may.
NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


def wrong_unless(condition, done):
    return None if condition else done.text


def tree(done):
    tally = case.tally_of(done.err)
    return done.code == 0 and tally is not None and tally["tree"] >= 100


class Plugin:
    """Each line is a method; it returns None, or what was wrong."""

    def __init__(self, slurm):
        self.slurm = slurm

    def start(self, *command, env=None):
        return self.slurm(*command, env={**OPEN_MPI, **(env or {})}, seconds=90)

    def by_tree(self):
        done = self.start(*SIX, "--sumac", *SUMS)
        return wrong_unless(tree(done) and "sumac: no" not in done.err, done)

    def of_a_user(self):
        done = self.start(*NOBODY, *SIX, "--sumac=tree", *SUMS)
        return wrong_unless(tree(done), done)

    def host(self):
        done = self.start(*SIX, "--sumac=host", *SUMS)
        tally = case.tally_of(done.err)
        return wrong_unless(done.code == 0 and (tally is None or not tally["tree"]), done)

    def off(self):
        done = self.start(*SIX, "--sumac=off", "env")
        return wrong_unless(done.code == 0 and "sharpd.sock" not in done.out, done)

    def wrong_word(self):
        done = self.start(*SIX, "--sumac=three", "true")
        return wrong_unless(done.code != 0 and "--sumac=three: tree, host or off" in done.err, done)

    def one_task(self):
        done = self.start("srun", "-n1", "--sumac", "env")
        return wrong_unless(done.code == 0 and "sharpd.sock" not in done.out and "sumac:" not in done.err, done)

    def one_host(self):
        done = self.start("srun", "-N1", "-n2", "--sumac", *SUMS)
        return wrong_unless(tree(done), done)

    def mpich(self):
        """Its variables are those of `sumac run`: the interposed library."""
        done = self.start("srun", "-N2", "-n2", "--mpi=none", "--sumac", "sh", "-c", "mpiexec.hydra --version > /dev/null; env")
        return wrong_unless(done.code == 0 and done.out.count("sharpd.sock") == 2, done)

    def exports_nothing(self):
        done = self.start(*SIX, "--export=NONE", "--sumac", "/usr/bin/env")
        return wrong_unless(done.code == 0 and done.out.count("/host/sharpd.sock") == 6, done)

    def site_daemons(self):
        """The step takes those that are there, and starts nothing."""
        with self.slurm.site():
            done = self.start(*SIX, "--sumac", *SUMS)
            where = self.start(*SIX, "--sumac", "env")
        return wrong_unless(tree(done), done) or wrong_unless(where.out.count("NAME=/run/sumac/sharpd.sock") == 6, where)

    def named(self):
        """The plug-in, as root, proves number, user and account."""
        job, shown = held_by(self.slurm)
        holder = f"slurm job {job} of uid 0 account weather"
        return None if all(holder in text and "claimed" not in text for text in shown) else "\n---\n".join(shown)

    def shared_tmpdir(self):
        done = self.start(*SIX, "--sumac", *SUMS, env={"TMPDIR": f"{cluster.SHARED}/work"})
        return wrong_unless(tree(done), done)

    def missing_on_a_node(self):
        """Host c3 has no plug-in: one line, and the program runs."""
        inside = ["sh", "-c", "echo > /run/none && mount --bind /run/none /mnt/plugstack.conf"]
        self.slurm.on("c3", *inside)
        try:
            done = self.start(*SIX, "--sumac", *SUMS)
        finally:
            self.slurm.on("c3", "umount", "/mnt/plugstack.conf")
        return wrong_unless(done.code == 0 and done.err.count("host c3 has not come") == 1 and not tree(done), done)

    def no_dev_shm(self):
        self.slurm.on("c3", "mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "/dev/shm")
        try:
            done = self.start(*SIX, "--sumac", *SUMS, env={"OMPI_MCA_btl": "tcp,self"})
        finally:
            self.slurm.on("c3", "umount", "/dev/shm")
        return wrong_unless(done.code == 0, done)

    def no_pmix(self):
        """Open MPI can't start its ranks then: the same end as without Sumac, and nothing left."""
        ends = [self.start("srun", "--mpi=none", "-N2", "-n2", *option, *SUMS, env={"SLURM_MPI_TYPE": "none"}) for option in ((), ("--sumac",))]
        return wrong_unless(ends[0].code == ends[1].code, ends[1])

    def drained(self):
        """A node is drained while the step runs: that goes on by its tree."""
        job = self.slurm.batch(f"srun --sumac {' '.join(map(str, SUMS[:1]))} 8 20000\n", "-N3", "-n3", env=OPEN_MPI)
        self.until_daemons()
        self.slurm("scontrol", "update", "NodeName=c2", "State=DRAIN", "Reason=test")
        try:
            self.slurm.wait_for(job, 120)
        finally:
            self.slurm("scontrol", "update", "NodeName=c2", "State=RESUME")
        tally = case.tally_of(self.slurm.output(job))
        return None if tally and tally["tree"] == 20000 else self.slurm.output(job)

    def requeued(self):
        """The first life is ended by the requeue; the second has a tree."""
        job = self.slurm.batch(f"[ $SLURM_RESTART_COUNT ] || exec srun --sumac sleep 1000\nsrun --sumac {' '.join(map(str, SUMS))}\n", "-N2", "-n2",
                               "--requeue", env=OPEN_MPI)
        self.until_daemons()
        self.slurm.requeue(job)
        self.slurm.wait_for(job, 240)
        tally = case.tally_of(self.slurm.output(job))
        return None if tally and tally["tree"] >= 100 else self.slurm.output(job)

    def killed(self):
        """The helper of a host is killed together with the process that cleans up behind it: the host's next step removes its folder."""
        job = self.slurm.batch("srun --sumac sleep 1000\n", "-N2", "-n2")
        self.until_daemons()
        # It sees the processes of this host alone.
        self.slurm.on("c2", "pkill", "-9", "sumac-guardian")
        self.slurm.on("c2", "pkill", "-9", "-f", "sumac run-step")
        self.slurm("scancel", job)
        self.slurm.wait_for(job)
        if not [line for line in self.slurm.left() if "c2: tmp/sumac-run-" in line]:
            return "the killed helper left no folder: the case shows nothing"
        return self.by_tree()

    def until_daemons(self):
        ground.until(lambda: sum("sharpd" in line and "run-step" not in line for line in self.slurm.left()) >= 2, self.slurm.logs)

    def cost(self, rows, pairs):
        """Seconds more than a plain srun, turn by turn."""
        more = []
        for _ in range(pairs):
            took = []
            for option in ((), ("--sumac",)):
                begin = time.monotonic()
                done = self.start(*SIX, *option, *SUMS)
                took.append(time.monotonic() - begin)
                assert done.code == 0 and tree(done) == bool(option), done.text
            more.append(took[1] - took[0])
        rows.add("slurm srun --sumac of 6 ranks beside srun", "seconds more (median)", round(statistics.median(more), 3), 1.5, pairs=pairs)

    def cancel(self, rows, count):
        """Steps that end at any moment: nothing is left 5 s after the queue is empty."""
        moments = random.Random(1)
        left = []
        for _ in range(count):
            job = self.slurm.batch(f"srun --sumac {' '.join(map(str, SUMS[:1]))} 8 1000000\n", "-N3", "-n6", env=OPEN_MPI)
            time.sleep(moments.uniform(0, 3))  # the moment is the case, not a wait for something
            self.slurm("scancel", job)
            ground.until(lambda: not self.slurm.queued(), self.slurm.queued)
            try:
                ground.until(lambda: not self.slurm.left(), "", 5)
            except AssertionError:
                left.append(self.slurm.left())
                print("\n".join(left[-1]), file=sys.stderr)
        rows.add(f"slurm scancel at {count} moments", "steps that left something", len(left), 0)


SHORT = ("by_tree", "of_a_user", "one_task")
LINES = ("by_tree", "of_a_user", "host", "off", "wrong_word", "one_task", "one_host", "mpich", "exports_nothing", "site_daemons", "named", "shared_tmpdir", "missing_on_a_node",
         "no_dev_shm", "no_pmix", "drained", "requeued", "killed")


def run(rows, short):
    why_not = cluster.missing() or ("" if PLUGIN.exists() else f"{PLUGIN} is not built: make setup-slurm, then build again")
    if why_not:
        # The CI installs no Slurm: it takes 40 s.
        print(f"skipped: {why_not}")
        sys.exit(77)
    slurm = cluster.Cluster(plugstack=f"required {PLUGIN} default=off\n")
    plugin = Plugin(slurm)
    try:
        cluster.lines(rows, "slurm plug-in", slurm, {name: getattr(plugin, name) for name in (SHORT if short else LINES)})
        if not short:
            cluster.table(rows, "slurm srun --sumac beside srun", slurm, plugin.cost, PAIRS)
            cluster.table(rows, "slurm scancel at many moments", slurm, plugin.cancel, CANCELS)
    finally:
        slurm.down()


if __name__ == "__main__":
    results.end_in_order()
    results.cases(__doc__, run, "some lines only")
