"""Does time jump between neighbouring sizes? Sumac alone, each size right after the next smaller one; both in one state of the
machine, or the pair does not count. A smaller message may take at most 1.2 times as long as a larger one; and one of 64 bytes more,
where an algorithm may hand over to the next, at most 1.2 times what its size accounts for."""

from core import verdict as V
from core.pairs import same_state
from core.table import entry

from . import plan as P

TOLERANCE = 1.2
CLOSE = 1.13  # 64 bytes more than 512 and above
SMALLER = "smaller"  # the other half of a pair, in the place of a peer


def note(results, group, start, answers):
    """`answers` of one cycle, in the order of the cells."""
    for (small, before), (large, after) in zip(answers, answers[1:]):
        if small.kind != large.kind or before is None or after is None:
            continue
        pairs = results.pair(large.name, SMALLER)
        if same_state(before, after):
            pairs.add(start, after["ns"] / before["ns"])
        else:
            pairs.dropped += 1


def jump(ratio, growth):
    """By how much too falling, or too steep; steps of the size itself are not judged for steepness, because caches end there."""
    return max(1 / ratio, ratio / growth if growth <= CLOSE else 0)


def rows(group, results):
    """One entry for each collective: its worst jump."""
    out = []
    for kind in dict.fromkeys(cell.kind for cell in group.cells):
        cells = [cell for cell in group.cells if cell.kind == kind]
        jumps = []
        for small, large in zip(cells, cells[1:]):
            ratio = results.pair(large.name, SMALLER).ratio
            if ratio:
                jumps.append((jump(ratio, large.bytes / small.bytes), ratio, small, large))
        failures = [why for cell in cells for why in results.cell(cell.name, group.reference).failures]
        worst = max(jumps, key=lambda one: one[0], default=None)
        ok = None if worst is None else worst[0] <= TOLERANCE and not failures
        bad = [f"{P.size_name(large.bytes)} takes {ratio:.2f} x {P.size_name(small.bytes)}"
               for size, ratio, small, large in jumps if size > TOLERANCE]
        word = V.OPEN if ok is None else V.PASS if ok else V.FAIL
        out.append(entry(
            f"{group.name}-{kind}", "ratio", worst[0] if worst else None, {}, None, None, ranks=group.ranks, best_peer=None, ratio=None,
            ratio_interval=None, **V.keys(word, failures[0] if failures else "; ".join(bad) or f"{len(jumps)} neighbours", f"<= {TOLERANCE}"),
            times={P.size_name(cell.bytes): results.value(cell.name, group.reference) for cell in cells},
            dropped=sum(results.pair(cell.name, SMALLER).dropped for cell in cells), starts=group.starts,
            cacheline_ns=results.trip_ns(cells[0].name) if cells else None))
    return out
