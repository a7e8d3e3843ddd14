"""The rows between hosts: a barrier and an allreduce of 8 B of four lab hosts with one rank each. The interposed library takes them through the
tree, and the bare tree beside it sends the same messages without MPI. The fabric, the columns and the verdict are bench-fabric's."""

from demolib import cases as C
from demolib import report, running
from demolib.compiling import Absent, compile_once
from demolib.lab import LabError, last_words, run
from core.tally import read as read_tally
from demolib.ways import BOTH_SIDES, Bare, NotBuilt, Tools, WayFailed, parse_results, sumac_environment, take
from fabric.cases import FabricCase, latency_bounds
from fabric.columns import BOTH_WAITS
from fabric.mpich import HEADERS, SOURCES
from fabric.run import form_of

from . import mpis, plan as P

FABRIC = C.Fabric("fabric-4h-500us", "an-root", C._leaves(2, 2))
MPIS = (P.OPENMPI4, P.OPENMPI5)
OVER_BARE_MAX = 1.15
RUNS, PEER_RUNS = 5, 2


def row(mpi, kind, size):
    label = f"{kind}-{P.size_name(size)}" if size else kind
    return FabricCase(f"{label}-4h-500us-{mpi}", FABRIC, kind, size, limit_why="2 links up, 2 down", **latency_bounds(4, 0.5, size), group=mpi,
                      over_bare=OVER_BARE_MAX, iterations=(200, 20), peer_iterations=(100, 10), runs=RUNS, peer_runs=PEER_RUNS)


def rows(wanted):
    """Returns the FabricCases of these MPIs."""
    return [row(mpi, kind, size) for mpi in MPIS if mpi in wanted for kind, size in (("allreduce", 8), ("barrier", 0))]


def cases(wanted):
    return [one.name for one in rows(wanted)]


def start_openmpi4(lab, found, hosts):
    return lab.mpirun_command(["-n", len(hosts), *BOTH_SIDES, "--mca", "coll_hcoll_enable", "0"])


def start_openmpi5(lab, found, hosts):
    """Its launcher reaches the hosts by `sumac lab rsh`, as Open MPI 4.1's does. The daemons of PRRTE take no parameter of Open MPI's."""
    device, agent = lab.status()["device"], f"{lab.sumac} lab rsh"
    return lab.exec_command(hosts[0], [found.mpi.launcher, "--allow-run-as-root", "-n", len(hosts), "--host", ",".join(f"{host}:1" for host in hosts),
                                       "--prtemca", "plm_ssh_agent", agent, "--prtemca", "prte_if_include", device, "--bind-to", "none",
                                       *BOTH_SIDES, "--mca", "btl_tcp_if_include", device])


STARTS = {P.OPENMPI4: start_openmpi4, P.OPENMPI5: start_openmpi5}


class OnHosts:
    """collbench of one MPI on the lab's hosts. `library` is the interposed library, or None."""

    def __init__(self, column, cases_of_mpi, form, found, library=None):
        self.column, self.form, self.found, self.library = column, form, found, library
        self.cases, self.runs = cases_of_mpi, RUNS if library else PEER_RUNS
        if not library:
            self.cases = [type(case)(**{**case.__dict__, "iterations": case.peer_iterations}) for case in cases_of_mpi]

    def run(self, lab, tools, seconds):
        hosts = [host for _, below in self.cases[0].fabric.leaves for host in below]
        if not tools.daemons():
            raise NotBuilt("not built yet")
        try:
            program = compile_once(f"collbench-{self.found.key}", self.found.mpi.compiler, SOURCES, HEADERS, tools.build / "fabric")
        except Absent as missing:
            raise NotBuilt(str(missing)) from missing
        settings = {"LD_PRELOAD": self.library, **sumac_environment()} if self.library else {}
        texts = [word for case in self.cases for word in ("--case", C.program_case(case, self.form))]
        words = [*(["env", *(f"{name}={value}" for name, value in settings.items())] if settings else []), program, *texts]
        status, out, err = run([*STARTS[self.found.name](lab, self.found, hosts), *map(str, words)], seconds)
        if status != 0:
            raise WayFailed(f"not done after {seconds:.0f} s" if status is None else last_words(err))
        numbers = take(parse_results(out, "collbench"), self.cases)
        if self.library:
            must_use_the_tree(err, self.cases)
        return {(name, self.column): value for name, value in numbers.items()}


def must_use_the_tree(err, measured):
    """Raises WayFailed unless the last line of the job says that the tree did all calls of these collectives."""
    found = read_tally(err)
    if found is None:
        raise WayFailed("no last line of the interposed library: it did not serve the program")
    for case in measured:
        if found.part("tree").kinds.get(case.collective, 0) < found.calls(case.collective) or not found.calls(case.collective):
            raise WayFailed(f"the tree did not do every {case.collective}: {found.text}")


def ways(found, build):
    """Returns the function that makes the columns of a group, which has the rows of one MPI."""
    def columns(own, form):
        mpi = found[own[0].group]
        return [*(Bare(wait, own, form) for wait in BOTH_WAITS), OnHosts(C.OMPI_DEFAULT, own, form, mpi),
                OnHosts("sumac", own, form, mpi, mpis.library(mpi.name, build))]
    return columns


def measure(names, found, build, folder, budget_s):
    """Measures the rows in `names`; returns (entries, lines of their table)."""
    chosen = [one for one in rows(found) if one.name in names]
    if not chosen:
        return [], []
    form, tools = form_of("usual"), Tools(build)
    results = running.new_results(chosen)
    try:
        running.measure_groups(chosen, form, ways(found, build), tools, folder, results, budget_s)
    except LabError as why:
        for case in chosen:
            results.note(case.name, "sumac", str(why))
    entries = report.rows(chosen, results)
    for entry in entries:
        peer = next(iter(entry["peers"].values()), None)
        entry.update(peers={C.OMPI_DEFAULT: peer}, ratio=peer / entry["sumac"] if peer and entry["sumac"] else None)
    return entries, report.table(chosen, results)
