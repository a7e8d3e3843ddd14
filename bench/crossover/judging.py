"""Who was faster, and whether the selection chose him. Pure: from the numbers of a run to rows."""

from dataclasses import dataclass

from core.table import entry

from . import grid
from .columns import IN_TURNS, RING

EVEN = 1.10  # nearer to one another than this, either choice is right
NEAR = 1.30  # nearer than this, one number for each way decides nothing: they are measured in turns


@dataclass(frozen=True)
class Row:
    """One cell of the grid, judged."""

    cell: object
    tree: float = None
    own: float = None  # the time of the hosts' fastest algorithm
    algorithm: str = ""
    ring: float = None
    chose: str = ""
    verdict: str = ""  # right, even, wrong; cores: the machine's own work is more than the links'; "" for left out or not run
    why: str = ""

    @property
    def won(self):
        if self.tree is None or self.own is None:
            return ""
        return "tree" if self.tree <= self.own else "hosts"


def own_times(results, case):
    """{algorithm: ms} of the hosts without a tree."""
    cells = results.cells.get(case, {})
    return {column: cell.value for column, cell in cells.items() if column.startswith("Open MPI") and cell.value is not None}


def floors(cells, results):
    """What the machine itself takes: {(hosts, size): (tree, best of the hosts)}."""
    out = {}
    for cell in cells:
        if cell.fabric.round_trip_us == grid.FLOOR_US:
            times = own_times(results, cell.name)
            out[cell.fabric.hosts, cell.size] = (results.value(cell.name, "sumac"), min(times.values()) if times else None)
    return out


def verdict(cell, tree, own, chose, floor, turns=None):
    """(verdict, why). Judged is only what the links decide: each side's bound is more than what the machine takes for the same.
    `turns`: the tree's time over the hosts', where the two were measured in turns."""
    if tree is None or own is None or not chose:
        return "", "no number for " + ("the tree" if tree is None else "the hosts" if own is None else "the selection")
    for name, bound, machine in (("tree", cell.limit, floor[0]), ("hosts", cell.hosts_limit, floor[1])):
        if machine is None or machine > bound:
            return "cores", f"{name}: the machine takes {machine or 0:.2f} ms by itself, the links {bound:.2f}"
    if turns is not None and turns.interval is not None:
        low, high = turns.interval
        won = "tree" if high < 1 else "hosts" if low > 1 else ""
        why = f"tree {tree:.2f} ms, hosts {own:.2f} ms, in {len(turns.values)} turns {turns.ratio:.2f} ({low:.2f}..{high:.2f}), chosen: {chose}"
        return ("even" if not won or EVEN >= max(turns.ratio, 1 / turns.ratio) else "right" if won == chose else "wrong"), why
    if max(tree, own) <= EVEN * min(tree, own):
        return "even", f"tree {tree:.2f} ms, hosts {own:.2f} ms"
    won = "tree" if tree < own else "hosts"
    return ("right" if won == chose else "wrong"), f"tree {tree:.2f} ms, hosts {own:.2f} ms, chosen: {chose}"


def undecided(rows):
    """The cells whose choice looks wrong, by less than two numbers can tell."""
    return [row for row in rows if row.verdict == "wrong" and row.tree is not None and row.own is not None
            and max(row.tree, row.own) <= NEAR * min(row.tree, row.own)]


def judge(cells, results):
    """A row for each cell but the floors'."""
    floor, out = floors(cells, results), []
    for cell in cells:
        one = cell.fabric
        if one.round_trip_us == grid.FLOOR_US:
            continue
        at_switch = next((other for other in cells if other.size == cell.size and other.fabric.group == one.group
                          and other.fabric.place == "switch"), cell)
        times = own_times(results, at_switch.name)
        best = min(times, key=times.get) if times else ""
        tree, chose = results.value(cell.name, "sumac"), results.notes.get(cell.name, {}).get("chose", "")
        if cell.left_out:
            word, why = "", f"left out: {cell.left_out}"
        else:
            word, why = verdict(cell, tree, times.get(best), chose, floor.get((one.hosts, cell.size), (None, None)),
                                results.pairs.get((cell.name, IN_TURNS)))
        failures = results.cells.get(cell.name, {}).get("sumac")
        if failures and failures.failures:
            word, why = "wrong", failures.failures[0]
        out.append(Row(cell, tree, times.get(best), best, times.get(RING), chose, word, why))
    return out


def entries(rows, results):
    """build/crossover.json: the demo's schema, and what is judged here."""
    out = []
    for row in rows:
        cell = row.cell
        out.append(entry(
            cell.name, "ms", row.tree, own_times(results, cell.name), cell.limit, None, hosts=cell.fabric.hosts,
            round_trip_us=cell.fabric.round_trip_us, place=cell.fabric.place, bytes=cell.size, best_peer=row.algorithm or None,
            best_peer_ms=row.own, peer_limit=round(cell.hosts_limit, 4), ring_ms=row.ring, ring_limit=round(cell.ring_limit, 4),
            won=row.won or None, chose=row.chose or None, ok={"right": True, "even": True, "wrong": False}.get(row.verdict),
            verdict=row.verdict or "not measured", why=row.why))
    return out
