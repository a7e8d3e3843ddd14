"""A rank is killed under libsharp_coll, sumac_collectives and Open MPI with our component, on hosts with a tree, with SUMAC_RECOVERY=0 and 1 by turns; then
a host is cut off, with recovery. The survivors, which leave by _exit(), have the result of an operation, or all the same verdict; what had returned success
stays right. FAULT_KILLS: so many kills in all instead of 100."""

import os
import random
import signal
import time

from goes_on import SOURCE, case, change, ranks_of, started
from harness.rows import cases
from verdicts import records_of, wrong_of

HOSTS, KILLS, VIOLATIONS_MAX = 4, 100, 20
BEGUN, BEGINS_WITHIN_S, ENDS_WITHIN_S = 200, 60, 30  # Operations of each rank until the kill, and seconds.
# Nobody says that a host is cut off: its leaf finds after 2 s that it acknowledges nothing, and the others try to reach it for SUMAC_COLL_NODE_LOST_AFTER.
CUT, CUT_LINK, CUT_TOLD_WITHIN_S = "h4", ("h4", "leaf2"), 20
ON = {"HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
PYTHON = {"PYTHONPATH": str(case.BUILD / "python"), "MASTER_ADDR": "h1", "MASTER_PORT": "29600", "OPENBLAS_NUM_THREADS": "1"}
COMPONENT, NONE = case.component_flags(), case.component_flags(enable=0)
CLIENTS = {
    "libsharp_coll": (NONE, {}, [case.BUILD / "tests" / "client-survivors"]),
    "python": (NONE, PYTHON, [SOURCE / "build" / "python" / "bin" / "python", SOURCE / "tests" / "faults" / "survivors.py"]),
    "openmpi": (COMPONENT, {}, [case.PROGRAMS / "survivors"]),
}


def await_begin(job):
    until = time.monotonic() + BEGINS_WITHIN_S
    while time.monotonic() < until and job.process.poll() is None:
        if all(len(records_of(job.folder, rank)) >= BEGUN for rank in range(job.ranks)):
            return True
        time.sleep(0.02)
    return False


def await_verdicts(job, victim, seconds=ENDS_WITHIN_S):
    """Returns the records of all ranks."""
    until = time.monotonic() + seconds
    while True:
        records = {rank: records_of(job.folder, rank) for rank in range(job.ranks)}
        if time.monotonic() > until or all(isinstance(record[max(record)], tuple) for rank, record in records.items() if rank != victim):
            return records
        time.sleep(0.02)


def begun(lab, client, recovery, per_host):
    flags, more, program = CLIENTS[client]
    words = ["--map-by", f"ppr:{per_host}:node", "--oversubscribe", "--enable-recovery", *flags, *program]
    return started(lab, per_host * HOSTS, lambda folder: [*words, folder], {**ON, **more, "SUMAC_RECOVERY": recovery})


def one_job(lab, client, recovery, per_host, victim):
    """Returns what is wrong, or ""."""
    with begun(lab, client, recovery, per_host) as job:
        if not await_begin(job):
            return f"it did not begin: {job.text()}"
        time.sleep(random.uniform(0, 0.2))  # So the kill comes at any moment of the loop.
        os.kill(ranks_of(job)[victim], signal.SIGKILL)
        wrong = wrong_of(await_verdicts(job, victim), victim, f"h{victim // per_host + 1}", recovery, per_host)
        return wrong and f"{wrong}\n{job.text()}"


def trials(lab, per_host, kills):
    """Returns (jobs whose survivors were told different things, jobs)."""
    violations, count = 0, 0
    while count < kills and violations < VIOLATIONS_MAX:
        client, recovery, victim = list(CLIENTS)[count % 3], str(count // 3 % 2), count % (per_host * HOSTS)
        wrong = one_job(lab, client, recovery, per_host, victim)
        count += 1
        violations += bool(wrong)
        print(f"{client}, SUMAC_RECOVERY={recovery}, rank {victim} of {per_host * HOSTS} killed: {wrong or 'alike'}", flush=True)
    return violations, count


def one_cut(lab, client):
    """Returns (what is wrong, or "", the seconds until all survivors had a verdict)."""
    with begun(lab, client, "1", 1) as job:
        if not await_begin(job):
            return f"it did not begin: {job.text()}", 0
        change(lab, "link", *CUT_LINK, "down")
        began = time.monotonic()
        try:
            victim = HOSTS - 1
            wrong = wrong_of(await_verdicts(job, victim, CUT_TOLD_WITHIN_S), victim, CUT, "1")
            return wrong and f"{wrong}\n{job.text()}", time.monotonic() - began
        finally:
            change(lab, "link", *CUT_LINK, "up")


def host_cuts(rows, lab, clients):
    violations, longest = 0, 0
    for client in clients:
        wrong, seconds = one_cut(lab, client)
        violations, longest = violations + bool(wrong), max(longest, seconds)
        print(f"{client}, host {CUT} is cut off: {wrong or f'alike after {seconds:.1f} s'}", flush=True)
    rows.add("host-cuts", "jobs whose survivors were told different things, or nothing", violations, 0, trials=len(clients))
    rows.add("host-cut-told-s", "s until the last survivor was told", longest, CUT_TOLD_WITHIN_S, trials=len(clients))


def rank_kills(rows, is_short):
    random.seed(7)
    kills = int(os.environ.get("FAULT_KILLS", KILLS))
    lab = case.Lab("rank-kills")
    lab.up()
    try:
        for name, per_host, count in () if is_short else (("rank-kills", 1, kills), ("rank-kills-2-on-a-host", 2, kills // 4)):
            violations, done = trials(lab, per_host, count)
            rows.add(name, "jobs whose survivors were told different things", violations, 0, trials=done)
        host_cuts(rows, lab, ["libsharp_coll"] if is_short else CLIENTS)
    finally:
        lab.down()


cases(__doc__, rank_kills, short="only a host is cut off, under libsharp_coll")
