#!/usr/bin/env python3
"""Sumac in a Slurm of three hosts, as it is used without a plug-in: `sumac run` in every kind of job, and daemons of the site.
`--short`: the lines that take the least time."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path.append(str(HERE.parents[1]))
from harness import case, folders, ground, rows as results  # noqa: E402  pylint: disable=wrong-import-position

import cluster  # noqa: E402  pylint: disable=wrong-import-position

SUMS = [case.PROGRAMS / "sums", 8, 100]
RUN = [case.SUMAC, "run", "--tree"]
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,vader",
            "OMPI_MCA_mpi_yield_when_idle": "1"}

# Finds the component, as an installation of the site would.
COMPONENT = {f"OMPI_MCA_{name}": value for name, value in zip(case.component_flags()[1::3], case.component_flags()[2::3])}
# A program of a job by daemons of the site.
SITE = {**COMPONENT, "HCOLL_ENABLE_SHARP": "1"}


TASKS = 100


def words(command):
    return " ".join(map(str, command))


# The page's own client, on the host where the page is.
ASK = f"""
import sys
sys.path[:0] = {[str(HERE.parents[1]), str(HERE.parents[1] / "page")]!r}
import cluster
ticket = cluster.ticket("10.99.0.1:6126")
print(cluster.ask(ticket["site"], "/api/v1/jobs", ticket["token"])[2])
print("---", cluster.ask("http://{cluster.METRICS}", "/metrics")[2])
"""


def held_by(slurm):
    """Runs a job by daemons of the site; returns its number, and what sharp_cmd, page and metrics say of its holder."""
    def jobs():
        return slurm(ground.BIN / "sharp_cmd", "jobs", "--manager", "10.99.0.1:6126")

    with slurm.site():
        job = slurm.batch(f"srun {case.PROGRAMS / 'sums'} 8 100000000\n", "-N2", "-n2", "--account=weather", env={**OPEN_MPI, **SITE})
        try:
            ground.until(lambda: "slurm job" in jobs().out, lambda: jobs().text)
            asked = slurm(sys.executable, "-c", ASK, env={"SUMAC_BUILD": str(case.BUILD)})
            return job, [jobs().out, *(asked.out if asked.code == 0 else asked.text).split("--- ", 1)]
        finally:
            slurm("scancel", job)
            slurm.wait_for(job)


class Lines:
    """Each line of the table is a method; it returns None, or what was wrong."""

    def __init__(self, slurm, folder):
        self.slurm = slurm
        self.mpich = f"{folder}/sums"
        case.start(["mpicc.mpich", "-O1", "-o", self.mpich, HERE.parents[1] / "mpi" / "sums.c"])

    def by_tree(self, text):
        tally = case.tally_of(text)
        return None if tally and tally["tree"] >= 100 else f"no tree in the last line:\n{text}"

    def run(self, *command, env=None):
        done = self.slurm(*command, env={**OPEN_MPI, **(env or {})}, seconds=90)
        return f"{words(command)}: {done.text}" if done.code != 0 else self.by_tree(done.err)

    def job(self, script, *options):
        job = self.slurm.batch(script, *options, env=OPEN_MPI)
        self.slurm.wait_for(job)
        return self.by_tree(self.slurm.output(job))

    def salloc_mpirun(self):
        return self.run("salloc", "-N3", "-n3", *RUN, "mpirun", *SUMS)

    def salloc_srun_pmix(self):
        return self.run("salloc", "-N3", "-n3", *RUN, "srun", "--mpi=pmix", *SUMS)

    def sbatch(self):
        return self.job(words([*RUN, "srun", *SUMS]), "-N3", "-n3")

    def memory_and_cores(self):
        return self.job(words([*RUN, "srun", "--mem=500", "-c", 2, *SUMS]), "-N3", "-n3", "--mem=1000", "-c", "2")

    def exclusive(self):
        return self.job(words([*RUN, "srun", *SUMS]), "-N3", "-n3", "--exclusive")

    def hydra(self):
        return self.run("salloc", "-N3", "-n3", *RUN, "mpiexec.hydra", self.mpich, 8, 100)

    def srun_pmi2(self):
        return self.run("salloc", "-N3", "-n3", *RUN, "srun", "--mpi=pmi2", self.mpich, 8, 100)

    def array(self):
        """Six jobs at once, each with its own daemons, some on the same hosts."""
        job = self.slurm.batch(words([*RUN, "srun", *SUMS]), "-N2", "-n2", "--array=1-6", env=OPEN_MPI)
        self.slurm.wait_for(job, 120)
        wrong = [self.by_tree(self.slurm.output(job, task)) for task in range(1, 7)]
        return next(filter(None, wrong), None)

    def export_none(self):
        """The daemons run, and a line says what keeps the variables from the program."""
        job = self.slurm.batch(words([*RUN, "srun", *SUMS]), "-N2", "-n2", "--export=NONE")
        self.slurm.wait_for(job)
        text = self.slurm.output(job)
        return None if "keeps Sumac's variables from" in text and "SLURM_EXPORT_ENV" in text and "WRONG" not in text else text

    def run_behind_srun(self):
        done = self.slurm("srun", "-N3", "-n3", *RUN, *SUMS, env=OPEN_MPI)
        right = done.code == 0 and done.err.count("write `sumac run` before the launcher") == 1
        return None if right else done.text

    def shared_tmpdir(self):
        return self.run("salloc", "-N3", "-n3", *RUN, "srun", *SUMS, env={"TMPDIR": f"{cluster.SHARED}/work"})

    def requeue(self):
        """The first life waits for a file that only the second finds."""
        job = self.slurm.batch(f"[ $SLURM_RESTART_COUNT ] || {{ echo first; exec {words([*RUN, 'srun', 'sleep', 1000])}; }}\n{words([*RUN, 'srun', *SUMS])}",
                               "-N2", "-n2", "--requeue", env=OPEN_MPI)
        ground.until(lambda: any("sharpd" in line for line in self.slurm.left()), self.slurm.logs)
        self.slurm.requeue(job)
        self.slurm.wait_for(job, 240)
        return self.by_tree(self.slurm.output(job))

    def scancel(self):
        job = self.slurm.batch(words([*RUN, "srun", "sleep", 1000]), "-N3", "-n3")
        ground.until(lambda: any("sharpd" in line for line in self.slurm.left()), self.slurm.logs)
        self.slurm("scancel", job)
        self.slurm.wait_for(job)

    def site_daemons(self):
        """A bare srun, with daemons that stay on the hosts."""
        with self.slurm.site():
            return self.run("srun", "-N3", "-n3", *SUMS, env={**SITE, "LD_LIBRARY_PATH": f"{case.BUILD}/lib"})

    def named(self):
        """Without the plug-in, and without control groups, Slurm's number is a claim of the process."""
        job, shown = held_by(self.slurm)
        return None if all(f"slurm job {job} account weather (claimed)" in text for text in shown) else "\n---\n".join(shown)

    def torchrun(self):
        """One torchrun on each host, started by srun; the ranks' hosts meet by messages."""
        python = case.BUILD.parent / "python" / "bin"
        if not list((case.BUILD / "python" / "sumac_collectives").glob("_core.*.so")):
            return "the Python package is not built"
        script = self.slurm.folder / "work" / "sums.py"
        script.write_text("import torch, torch.distributed as dist\ndist.init_process_group('sumac')\nx = torch.ones(4)\n"
                          "dist.all_reduce(x)\nassert x.tolist() == [dist.get_world_size()] * 4\nprint('right', flush=True)\ndist.destroy_process_group()\n")
        done = self.slurm("srun", "--mpi=none", "-N2", "-n2", "-c2", python / "torchrun", "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d",
                          "--rdzv-endpoint=c1:29500", f"{cluster.SHARED}/work/{script.name}", env={"PYTHONPATH": f"{case.BUILD}/python", "OMP_NUM_THREADS": "1"}, seconds=120)
        return None if done.code == 0 and done.out.count("right") == 2 else done.text


    def queue(self, rows, count):
        """Array tasks by daemons of the site. Two have room at once, and the others wait for their turn."""
        with self.slurm.site():
            job = self.slurm.batch(f"srun {words(SUMS[:1])} 8 1000\n", "-N2", "-n2", f"--array=1-{count}",
                                   env={**OPEN_MPI, **SITE, "SHARP_COLL_JOB_QUOTA_OSTS": "128", "SUMAC_QUEUE_SECONDS": "600"})
            most = [0]

            def over():
                status = json.loads(self.slurm(ground.BIN / "sharp_cmd", "jobs", "--json", "--manager", "10.99.0.1:6126").out or "{}")
                most[0] = max(most[0], len(status.get("waiting", [])))
                return not self.slurm.queued(job) and status.get("jobs") == [] and status.get("waiting") == []

            ground.until(over, self.slurm.logs, 900)
        refused = [task for task in range(1, count + 1) if self.by_tree(self.slurm.output(job, task))]
        if refused:
            print(self.slurm.output(job, refused[0]), file=sys.stderr)
        rows.add(f"slurm queue of {count} array tasks", "refused", len(refused), 0, most_waiting=most[0])
        rows.add("slurm queue behind its last task", "failures", int(bool(cluster.leftover(self.slurm)) or most[0] == 0), 0)


SHORT = ("salloc_srun_pmix", "memory_and_cores", "scancel")
LINES = ("salloc_mpirun", "salloc_srun_pmix", "sbatch", "memory_and_cores", "exclusive", "hydra", "srun_pmi2", "array", "export_none", "run_behind_srun",
         "shared_tmpdir", "requeue", "scancel", "site_daemons", "named", "torchrun")


def run(rows, short):
    why_not = cluster.missing()
    if why_not:
        # The CI installs no Slurm: it takes 40 s.
        print(f"skipped: {why_not}")
        sys.exit(77)
    with folders.Folder("sumac-slurm-", "/var/tmp") as folder:
        slurm = cluster.Cluster()
        lines = Lines(slurm, folder)
        try:
            cluster.lines(rows, "slurm", slurm, {name: getattr(lines, name) for name in (SHORT if short else LINES)})
            if not short:
                cluster.table(rows, "slurm queue", slurm, lines.queue, TASKS)
        finally:
            slurm.down()


if __name__ == "__main__":
    results.end_in_order()
    results.cases(__doc__, run, "some lines only")
