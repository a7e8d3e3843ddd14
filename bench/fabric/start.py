"""How long a job takes to start, with Sumac and by Open MPI alone in turns."""

import os
import subprocess
import time

from core.pairs import take_turns
from demolib import cases as C
from demolib.ways import BOTH_SIDES, NotBuilt, Tools, WayFailed, parse_results, run_mpi


class Start:
    """From MPI_Init to the end of the first barrier, on the hosts of a lab: the slowest rank's time, in ms."""

    column = "sumac"

    def __init__(self, case):
        self.case, self.cases, self.guess_s = case, [case], 6.0 * case.pairs

    def number(self, lab, program, flags, seconds):
        out, _ = run_mpi(lab, self.case.fabric.hosts, flags, [program], seconds)
        entry = parse_results(out, "mpi-start").get(("start", 0))
        if entry is None:
            raise WayFailed(f"no result for {self.case.name}")
        return entry["median"]

    def run(self, lab, tools, seconds):
        program, flags, each = tools.program("mpi-start"), Tools.sumac_flags(tools), seconds / (2 * self.case.pairs)
        found = list(take_turns(self.case.pairs, lambda: self.number(lab, program, [], each), lambda: self.number(lab, program, flags, each)))
        self.ratios = {(self.case.name, "bare"): [ours / alone for alone, ours in found]}
        return {(self.case.name, C.OMPI_DEFAULT): [alone for alone, _ in found], (self.case.name, self.column): [ours for _, ours in found]}


class RunStart:
    """`sumac run mpirun -np 2 true` on this machine: by how many ms it takes longer than mpirun alone, in turns."""

    column = "sumac"

    def __init__(self, case):
        self.case, self.cases, self.guess_s = case, [case], 1.0 * case.pairs

    @staticmethod
    def took_ms(command, seconds):
        began = time.monotonic()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, check=False)
        if done.returncode != 0:
            raise WayFailed(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        return (time.monotonic() - began) * 1e3

    def run(self, _, tools, seconds):
        if not (tools.components / "mca_coll_hcoll.so").exists():
            raise NotBuilt("not built yet")
        mpirun = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe", *BOTH_SIDES, "-np", "2", "true"]
        found = list(take_turns(self.case.pairs, lambda: self.took_ms(mpirun, seconds),
                                lambda: self.took_ms([tools.program("sumac"), "run", *mpirun], seconds)))
        return {(self.case.name, C.OMPI_DEFAULT): [alone for alone, _ in found],
                (self.case.name, self.column): [ours - alone for alone, ours in found]}
