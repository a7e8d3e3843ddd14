"""What survivors of a killed rank were told, as the programs called survivors record it, and what is wrong with it."""

import re

CULPRIT = re.compile(r"\brank (\d+) \(host ([\w.-]+)[,)]")


def records_of(folder, rank):
    """{operation: "ok", "wrong", or (code, reason)} as far as the rank came."""
    found = {}
    for line in (folder / str(rank)).read_text(encoding="utf-8", errors="replace").splitlines() if (folder / str(rank)).exists() else []:
        operation, what, *more = line.split(" ", 3)
        found[int(operation)] = tuple(more) if what == "failed" else what
    return found


def wrong_of(records, victim, host, recovery, per_host=1):
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
    # A host's first rank has results from the tree before its host has: what dies with it there, the other hosts may have.
    bereft = {rank for rank in failed if victim % per_host == 0 and rank // per_host == victim // per_host}
    first = min(operation for rank, operation in failed.items() if rank not in bereft)
    for rank, operation in failed.items():
        if rank in bereft and operation < first:
            continue
        # The root of a broadcast has its result before the others. Without recovery so have those that it has reached, and nobody can supply the rest.
        is_early = first % 3 == 2 and operation == first + 1 and (recovery == "0" or rank == first // 3 % len(records))
        if operation != first and not is_early:
            return f"the first operation that fails: {failed}"
    return ""
