"""How each column is run in a lab. A way serves several cases of its fabric with one start and gives back numbers."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from core import tally

from .cases import OMPI_DEFAULT, program_case
from .lab import Deadline, end, LabError, last_words, run, start as start_process, wait_readable

# Both sides of every comparison: one transport, and 16 ranks on few cores must yield (spinning ones are 20 x slower).
BOTH_SIDES = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"]

# Sumac runs with these, unless the user set them.
SUMAC_ENVIRONMENT = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "1024",
    "SHARP_COLL_JOB_QUOTA_OSTS": "128",
    "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "8",
}

TREE_KINDS = ("barrier", "allreduce")  # whose share by the tree the row of hpcc shows
BARE_PORT = 7700  # every place has a network of its own


class WayFailed(Exception):
    """A run that gives no number; the text says why."""


class NotBuilt(Exception):
    """The program or component does not exist in this build: the column stays empty."""


def sumac_environment(given=os.environ, more=()):
    """What Sumac runs with; `more` are a case's own settings. The user's word goes first."""
    return {name: given.get(name, value) for name, value in {**SUMAC_ENVIRONMENT, **dict(more)}.items()}


def environment_flags(more=()):
    return [word for name, value in sumac_environment(more=more).items() for word in ("-x", f"{name}={value}")]


def parse_results(text, program):
    """JSON lines of our programs, as {(collective, bytes): line}."""
    found = {}
    for line in text.splitlines():
        if line.startswith('{"program":"' + program):
            entry = json.loads(line)
            found[entry["case"], entry["bytes"]] = entry
    return found


def take(found, cases):
    """{case name: ms}; a missing or wrong result is a failure, not a number."""
    numbers = {}
    for case in cases:
        entry = found.get((case.collective, case.size))
        if entry is None:
            raise WayFailed(f"no result for {case.name}")
        if entry["errors"]:
            raise WayFailed(f"{entry['errors']} wrong results in {case.name}")
        numbers[case.name] = entry[case.field]
    return numbers


class Tools:
    """Where this build keeps what the ways start."""

    def __init__(self, build):
        self.bin, self.components = Path(build).resolve() / "bin", Path(build).resolve() / "lib" / "openmpi"
        self.build = Path(build).resolve()
        self.before = None  # The Tools of another build, if this one is compared with it.

    def program(self, name):
        path = self.bin / name
        if not path.exists():
            raise NotBuilt("not built yet")
        return path

    def daemons(self):
        return all((self.bin / name).exists() for name in ("sharp_am", "sharp_an", "sharpd"))

    def sumac_flags(self, more=()):
        if not self.daemons() or not (self.components / "mca_coll_hcoll.so").exists():
            raise NotBuilt("not built yet")
        system = subprocess.run(["ompi_info", "--parsable", "--path", "pkglibdir"], capture_output=True, text=True,
                                check=False).stdout.strip().rpartition(":")[2]
        if not system:
            raise WayFailed("ompi_info names no component directory: install openmpi-bin")
        flags = ["--mca", "opal_mca_base_component_path", f"{self.components}:{system}", "--mca", "coll_hcoll_enable", "1",
                 "--mca", "coll_hcoll_np", "0"]
        return flags + environment_flags(more)


def run_mpi(lab, ranks, flags, argv, seconds, cwd=None):
    status, out, err = run(lab.mpirun_command(["-n", ranks, *BOTH_SIDES, *flags, *argv]), seconds, cwd)
    if status is None:
        raise WayFailed(f"not done after {seconds:.0f} s")
    if status != 0:
        raise WayFailed(last_words(err))
    return out, err


class Mpi:
    """collbench or sharp-client under mpirun."""

    def __init__(self, column, cases, form, program="collbench", flags=lambda tools: [], peers=None):
        self.column, self.cases, self.form, self.program, self.flags = column, cases, form, program, flags
        self.peers = peers or (lambda collective: column)

    def run(self, lab, tools, seconds):
        program = tools.program(self.program)
        flags = self.flags(tools)
        texts = [word for case in self.cases for word in ("--case", program_case(case, self.form))]
        out, err = run_mpi(lab, self.cases[0].fabric.hosts, flags, [program, *texts], seconds)
        numbers = take(parse_results(out, self.program), self.cases)
        for line in err.splitlines():
            if tally.read(line):
                self.summary = line.strip()
        return {(name, self.peers(case.collective)): numbers[name] for case in self.cases for name in [case.name]}


class Bare:
    """One baretree process per host and node."""

    def __init__(self, wait, cases, form):
        self.column, self.wait, self.cases, self.form = f"bare {wait}", wait, cases, form

    def run(self, lab, tools, seconds):
        program = tools.program("baretree")
        fabric = self.cases[0].fabric
        texts = [word for case in self.cases for word in ("--case", program_case(case, self.form))]
        common = ["--wait", self.wait, "--limit", str(int(seconds)), "--ranks", str(fabric.hosts), *bare_cut(self.cases), *texts]
        deadline = Deadline(seconds)
        at = lab.nodes()
        with contextlib.ExitStack() as stack:
            def start(place, *arguments):
                process = start_process(lab.exec_command(place, [program, *arguments, *common]), text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
                stack.callback(end, process)
                return process

            def node(name, children, *more):
                process = start(at[name][0], "node", "--listen", str(BARE_PORT), "--children", str(children), *more)
                wait_for_ready(process, name, deadline)
                return process

            root = node(fabric.root, len(fabric.leaves))
            others = [node(leaf, len(hosts), "--parent", f"{at[fabric.root][1]}:{BARE_PORT}") for leaf, hosts in fabric.leaves]
            places = [(host, leaf) for leaf, hosts in fabric.leaves for host in hosts]
            others += [start(host, "host", "--rank", str(rank), "--parent", f"{at[leaf][1]}:{BARE_PORT}")
                       for rank, (host, leaf) in enumerate(places)]
            try:
                out, err = root.communicate(timeout=deadline.left())
            except subprocess.TimeoutExpired as late:
                raise WayFailed(f"not done after {seconds:.0f} s") from late
            if root.returncode != 0:
                raise WayFailed(last_words(err))
            for process in others:
                process.wait(max(1.0, deadline.left()))
        numbers = take(parse_results(out, f"bare-{self.wait}"), self.cases)
        return {(name, self.column): value for name, value in numbers.items()}


def bare_cut(cases):
    """Returns the options that make the bare tree cut the vectors of these cases as Sumac does. One start serves all of them, so the smallest
    chunk counts."""
    least = min((case.chunk for case in cases if case.chunk), default=None)
    return ["--chunk", str(least)] if least else []


def wait_for_ready(process, place, deadline):
    """A node says when its children may come, and at which port."""
    if not wait_readable(process.stdout, deadline.left()):
        raise WayFailed(f"the bare node at {place} did not start")
    line = process.stdout.readline()
    if not line.startswith("ready "):
        raise WayFailed(f"the bare node at {place}: {last_words(process.stderr.read())}")
    return int(line.split()[1])


HPCC_INPUT = """HPLinpack benchmark input file
written by bench/demo.py
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
400          Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
2            Ps
4            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0                               Number of additional problem sizes for PTRANS
1200 10000 30000                values of N
0                               number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64        values of NB
"""


def check_hpcc(text):
    """hpcc's own verdict of its output file: every residual PASSED, and Success=1 at the end."""
    residuals = [line.strip() for line in text.splitlines() if re.search(r"\b(PASSED|FAILED)\b", line)]
    failed = [line for line in residuals if "FAILED" in line]
    if failed:
        raise WayFailed(f"hpcc: {failed[0]}")
    if not residuals:
        raise WayFailed("hpcc: its output has no residual")
    if not re.search(r"^Success=1\s*$", text, re.MULTILINE):
        raise WayFailed("hpcc: its output does not say Success=1")


class Hpcc:
    """The unmodified application: does it pass, and how many of its calls went through the tree."""

    def __init__(self, column, case, flags=lambda tools: []):
        self.column, self.cases, self.flags = column, [case], flags

    def run(self, lab, tools, seconds):
        program = shutil.which("hpcc")
        if program is None:
            raise WayFailed("hpcc is not installed: apt install hpcc")
        flags = self.flags(tools)
        folder = tools.build / "hpcc"
        folder.mkdir(exist_ok=True)
        (folder / "hpccinf.txt").write_text(HPCC_INPUT)
        (folder / "hpccoutf.txt").unlink(missing_ok=True)  # hpcc appends
        _, err = run_mpi(lab, self.cases[0].fabric.hosts, ["--wdir", folder, *flags], [program], seconds, folder)
        check_hpcc((folder / "hpccoutf.txt").read_text(errors="replace"))
        if self.column != "sumac":
            return {}
        found = tally.read(err)
        if not found:
            raise WayFailed("no summary line of Sumac's component on stderr")
        self.summary = found.text
        by_tree = found.part("tree").kinds
        return {(self.cases[0].name, "sumac"): sum(by_tree.get(kind, 0) for kind in TREE_KINDS) / max(1, found.calls(*TREE_KINDS))}


def ways(cases, form):
    """All columns of one fabric's cases, bare first."""
    small = all(case.size <= 64 << 10 for case in cases)
    if cases[0].collective == "hpcc":
        return [Hpcc(OMPI_DEFAULT, cases[0]), Hpcc("sumac", cases[0], Tools.sumac_flags)]
    out = [Bare(wait, cases, form) for wait in form.bare]
    for bare in out:
        bare.runs = form.bare_runs
    out.append(Mpi(OMPI_DEFAULT, cases, form))
    for tuned in form.tuned_small if small else form.tuned_large:
        served = [case for case in cases if tuned.serves(case.collective)]
        if served:
            out.append(Mpi(tuned.peer(served[0].collective), served, form, flags=lambda _, t=tuned: t.flags(), peers=tuned.peer))
    if form.client:
        out.append(Mpi("sumac-lib", cases, form, program="sharp-client", flags=lib_flags))
    out.append(Mpi("sumac", cases, form, flags=Tools.sumac_flags))
    return out


def lib_flags(tools, more=()):
    if not tools.daemons():
        raise NotBuilt("not built yet")
    # This program calls the library itself: MPI starts it, without the component, which lines that name HCOLL's variables get in a lab.
    return ["--mca", "coll_hcoll_enable", "0", *environment_flags(more)]
