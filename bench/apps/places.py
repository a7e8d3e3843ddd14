"""Where programs run: on this host, and among the hosts of a lab. Both start them by mpirun, without Sumac and with it."""

import os
import time
from dataclasses import dataclass

from demolib import cases as C
from demolib.lab import last_words, run
from demolib.ways import BOTH_SIDES, NotBuilt, WayFailed

# A user asks for the tree where there is one, and for streams of large sums; quotas are what a job has that asks for none.
WITH_TREE = {"HCOLL_ENABLE_SHARP": "1", "SHARP_COLL_JOB_QUOTA_OSTS": "0", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "0",
             "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "0"}


@dataclass(frozen=True)
class Start:
    """One start of a program."""

    argv: list
    folder: object
    seconds: float  # It is ended after so long.
    mca: tuple = ()  # more words for mpirun
    variables: dict = None  # The program has these in its environment.
    sumac: bool = False
    ranks: int = None  # other than the place's


@dataclass(frozen=True)
class Output:
    out: str
    err: str
    wall: float


@dataclass(frozen=True)
class Host:
    """This host: mpirun as it comes, and behind `sumac run`."""

    name: str
    ranks: int
    fabric: C.Fabric = C.Fabric("this host", None, ())
    why = "ranks on this host, through shared memory"

    def command(self, _lab, tools, start):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        with_sumac = ["env", "HCOLL_ENABLE_SHARP=0", str(tools.program("sumac")), "run", "--local"] if start.sumac else []
        return [*with_sumac, "mpirun", *root, "--oversubscribe", "-np", str(start.ranks or self.ranks), *start.mca, *exported(start.variables)]

    def run(self, lab, tools, start):
        if start.sumac and not (tools.components / "mca_coll_hcoll.so").exists():
            raise NotBuilt("not built yet")
        return started([*self.command(lab, tools, start), *start.argv], start)


@dataclass(frozen=True)
class Hosts:
    """One rank on each host of a fabric in the lab."""

    name: str
    fabric: C.Fabric
    why = "a rank on each host of the lab, by the tree"

    @property
    def ranks(self):
        return self.fabric.hosts

    def command(self, lab, tools, start):
        flags = tools.sumac_flags(WITH_TREE.items()) if start.sumac else []
        return lab.mpirun_command(["-n", self.ranks, *BOTH_SIDES, *flags, *start.mca, *exported(start.variables)])

    def run(self, lab, tools, start):
        return started([*self.command(lab, tools, start), *start.argv], start)


def exported(variables):
    """Threads beside the ranks would only take their cores."""
    return [word for name, value in {"OMP_NUM_THREADS": "1", **(variables or {})}.items() for word in ("-x", f"{name}={value}")]


def started(command, start):
    """Runs it in its folder; raises WayFailed if it does not end, or ends badly, and leaves what it printed beside the folder."""
    began = time.monotonic()
    status, out, err = run([str(word) for word in command], start.seconds, start.folder)
    if status == 0:
        return Output(out, err, time.monotonic() - began)
    log = start.folder.with_suffix(".failed")
    log.write_text(" ".join(map(str, command)) + f"\n\n{out}\n{err}")
    raise WayFailed((f"not done after {start.seconds:.0f} s" if status is None else f"ended with {status}: {last_words(err)}") + f" ({log})")


PLACES = (Host("2r", 2), Host("4r", 4), Hosts("16h-500us", C.F_500US), Hosts("16h-5ms", C.F_5MS))
