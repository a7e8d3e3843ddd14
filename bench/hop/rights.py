"""The row of `make hop` for whom the kernel is closed: nodes of an ordinary user's lab, with SUMAC_NODE_HOP=auto beside off, in turns."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from core.pairs import Pairs
from demolib.lab import Lab
from demolib.ways import WayFailed, environment_flags, parse_results, run_mpi

NOBODY = 65534
CASES = (("allreduce", 8), ("barrier", 0))


@contextlib.contextmanager
def ordinary_user():
    """What this process starts meanwhile has no rights; yields a folder of that user."""
    folder = tempfile.mkdtemp(prefix="sumac-hop-")
    os.chown(folder, NOBODY, NOBODY)
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, 0)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield Path(folder)
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        shutil.rmtree(folder)


def medians(lab, tools, hosts):
    texts = [word for collective, size in CASES for word in ("--case", f"{collective}:{size or ''}:400:200")]
    out, _ = run_mpi(lab, hosts, environment_flags(), [tools.program("sharp-client"), *texts], 300)
    found = parse_results(out, "sharp-client")
    if any(found[case]["errors"] for case in CASES):
        raise WayFailed("without-rights: wrong results")
    return [found[case]["median"] for case in CASES]


def silent_nodes(lab):
    """Counts nodes that do not say why all goes by TCP, in one line."""
    logs = list(Path(tempfile.gettempdir()).glob(f"sumac-lab-*-{lab.name}/sharp_an.*.log"))
    return max(1, len(logs)) - sum(log.read_text(encoding="utf-8").count("small operations go by TCP all the same") == 1 for log in logs)


def without_rights(tools, fabric_file, hosts, turns):
    pairs = [Pairs() for _ in CASES]
    with ordinary_user() as folder, contextlib.ExitStack() as stack:
        labs = []
        for hop in ("auto", "off"):
            os.environ["SUMAC_NODE_HOP"] = hop
            labs.append(stack.enter_context(Lab(tools.program("sumac"), fabric_file, f"hop-{hop}-{os.getpid()}", folder / f"{hop}.log")))
        for turn in range(turns):
            first = turn % 2
            got = {way: medians(labs[way], tools, hosts) for way in (first, 1 - first)}
            for each, ours, off in zip(pairs, got[0], got[1]):
                each.add(turn, ours / off)
        silent = silent_nodes(labs[0])
    rows = [(f"without-rights-{collective}", "x hop off, the lower end of the interval", (each.interval or (each.ratio,))[0], 1.03, {"all": each.values})
            for (collective, _), each in zip(CASES, pairs)]
    return [*rows, ("without-rights-silent", "nodes whose log has not the one line that says why", silent, 0, {})]
