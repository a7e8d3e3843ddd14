"""A rank is killed under libsharp_coll, sumac_collectives and Open MPI with our component, on hosts with a tree, with SUMAC_RECOVERY=0 and 1 by turns. The
survivors, which leave by _exit(), have the result of an operation, or all the same verdict; what had returned success stays right. FAULT_KILLS: so many in all
instead of 100."""

import os
import pathlib
import random
import re
import signal
import tempfile
import time

from goes_on import SOURCE, case
from harness.rows import cases

HOSTS, KILLS, VIOLATIONS_MAX = 4, 100, 20
BEGUN, BEGINS_WITHIN_S, ENDS_WITHIN_S = 200, 60, 30  # Operations of each rank until the kill, and seconds.
ON = {"HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
PYTHON = {"PYTHONPATH": str(case.BUILD / "python"), "MASTER_ADDR": "h1", "MASTER_PORT": "29600", "OPENBLAS_NUM_THREADS": "1"}
CULPRIT = re.compile(r"\brank (\d+) \(host ([\w.-]+)\)")
COMPONENT, NONE = case.component_flags(), case.component_flags(enable=0)
CLIENTS = {
    "libsharp_coll": (NONE, {}, [case.BUILD / "tests" / "client-survivors"]),
    "python": (NONE, PYTHON, [SOURCE / "build" / "python" / "bin" / "python", SOURCE / "tests" / "faults" / "survivors.py"]),
    "openmpi": (COMPONENT, {}, [case.PROGRAMS / "survivors"]),
}


def records_of(folder, rank):
    """{operation: "ok", "wrong", or (code, reason)} as far as the rank came."""
    found = {}
    for line in (folder / str(rank)).read_text(encoding="utf-8", errors="replace").splitlines() if (folder / str(rank)).exists() else []:
        operation, what, *more = line.split(" ", 3)
        found[int(operation)] = tuple(more) if what == "failed" else what
    return found


def wrong_of(records, victim, host, recovery):
    """Returns what is wrong with what the survivors were told, or "". records: {rank: {operation: what}}"""
    survivors = {rank: record for rank, record in records.items() if rank != victim}
    failed = {rank: max(record) for rank, record in survivors.items() if record and isinstance(record[max(record)], tuple)}
    if len(failed) < len(survivors):
        return f"ranks without a verdict: {sorted(set(survivors) - set(failed))}"
    if any("wrong" in record.values() for record in survivors.values()):
        return "a result that a rank had is wrong"
    told = {survivors[rank][operation] for rank, operation in failed.items()}
    if {(code, *CULPRIT.findall(reason)[:1]) for code, reason in told} != {(next(iter(told))[0], (str(victim), host))}:
        return f"it is not rank {victim} on {host}, with one code: {told}"
    first = min(failed.values())
    for rank, operation in failed.items():
        # The root of a broadcast has its result before the others. Without recovery so have those that it has reached, and nobody can supply the rest.
        is_early = first % 3 == 2 and operation == first + 1 and (recovery == "0" or rank == first // 3 % len(records))
        if operation != first and not is_early:
            return f"the first operation that fails: {failed}"
    return ""


def await_records(folder, ranks, process):
    until = time.monotonic() + BEGINS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        if all(len(records_of(folder, rank)) >= BEGUN for rank in range(ranks)):
            return True
        time.sleep(0.02)
    return False


def one_job(lab, client, recovery, per_host, victim):
    """Returns what is wrong, or ""."""
    ranks = per_host * HOSTS
    flags, more, program = CLIENTS[client]
    on = {**ON, **more, "SUMAC_RECOVERY": recovery}
    exported = [word for name in on for word in ("-x", name)]
    with tempfile.TemporaryDirectory(dir=case.PROGRAMS, prefix="faults-") as name:  # The lab's hosts see the programs' folder.
        folder = pathlib.Path(name)
        words = ["-n", ranks, "--map-by", f"ppr:{per_host}:node", "--oversubscribe", "--enable-recovery", *case.TCP, *case.YIELD, *flags, *exported, *program, folder]
        with (folder / "out").open("w", encoding="utf-8") as out:
            process = case.processes.start(lab.command("mpirun", *words), env={**os.environ, **on}, stdout=out, stderr=case.processes.STDOUT)
        try:
            if not await_records(folder, ranks, process):
                return f"it did not begin: {(folder / 'out').read_text(encoding='utf-8')}"
            time.sleep(random.uniform(0, 0.2))  # So the kill comes at any moment of the loop.
            kill_rank(folder, victim)
            until = time.monotonic() + ENDS_WITHIN_S
            while time.monotonic() < until:
                records = {rank: records_of(folder, rank) for rank in range(ranks)}
                if all(isinstance(record[max(record)], tuple) for rank, record in records.items() if rank != victim):
                    break
                time.sleep(0.02)
            wrong = wrong_of(records, victim, f"h{victim // per_host + 1}", recovery)
            return wrong and f"{wrong}\n{(folder / 'out').read_text(encoding='utf-8', errors='replace')}"
        finally:
            case.processes.end(process, grace=30)


def kill_rank(folder, rank):
    """Its pid is that of its host's namespace, so it is found by its folder and its number."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder).encode() in words and f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
            os.kill(int(process.name), signal.SIGKILL)
            return
    raise AssertionError(f"no rank {rank} below {folder}")


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


def rank_kills(rows):
    random.seed(7)
    kills = int(os.environ.get("FAULT_KILLS", KILLS))
    lab = case.Lab("rank-kills")
    lab.up()
    try:
        for name, per_host, count in (("rank-kills", 1, kills), ("rank-kills-2-on-a-host", 2, kills // 4)):
            violations, done = trials(lab, per_host, count)
            rows.add(name, "jobs whose survivors were told different things", violations, 0, trials=done)
    finally:
        lab.down()


cases(__doc__, rank_kills)
