"""Judges the cases of `make bench-mpi`, and prints its tables."""

from core import before as B
from core import table as T
from core import verdict as V
from core.pairs import Pairs, median
from core.table import number

from . import plan as P

PAIRS_MIN = 5  # With fewer pairs the interval is only the smallest and the largest ratio.


def pairs_of(cell, results):
    return results.pairs.get((cell.name, cell.mpi)) or Pairs()


def column(cell):
    return P.off(cell.mpi) if cell.sort == P.OFF else P.with_sumac(cell.mpi)


def failures(cell, results):
    return {"sumac": results.cell(cell.name, column(cell)).failures, P.LABELS[cell.mpi]: results.cell(cell.name, cell.mpi).failures}


def must_text(cell):
    if cell.above_at_most is not None:
        return f"<= the MPI's + {cell.above_at_most:g} {cell.unit}"
    if cell.faster is None:
        return "reported"
    return f"{cell.faster:g} x faster" if cell.faster >= 1 else f"<= {1 / cell.faster:.2f} x the MPI's time"


def missing(cells, results):
    """Returns (verdict, why) if a cell failed or has too few pairs; None if all can be judged."""
    for cell in cells:
        ours = failures(cell, results)["sumac"]
        if ours:
            return V.FAIL, f"{cell.name}: {ours[0]}"
    for cell in cells:
        count = len(pairs_of(cell, results).values)
        if count < PAIRS_MIN:
            theirs = results.cell(cell.name, cell.mpi).failures
            return V.OPEN, f"{cell.name}: {f'{count} pairs' if not theirs else f'{P.LABELS[cell.mpi]}: {theirs[0]}'}"
    return None


def is_undecided(cell, results):
    """Returns whether more pairs could change the verdict on this cell: there are too few, or the interval holds the limit."""
    if any(failures(cell, results).values()):
        return False
    pairs = pairs_of(cell, results)
    if len(pairs.values) < PAIRS_MIN:
        return True
    return holds_one_of((P.NEVER_BELOW if cell.sort == P.OSU else cell.faster,), pairs.interval)


def holds_one_of(limits, interval):
    return any(limit is not None and interval[0] < limit < interval[1] for limit in limits)


def is_undecided_off(cells, results):
    """The same for the cells of a case that has one number."""
    pairs = off_pairs(cells, results)
    return missing(cells, results) is None and holds_one_of(P.OFF_BAND, pairs.interval)


def undecided(groups, results):
    """Returns the groups with the cells that are worth more starts."""
    out = []
    for group in groups:
        if group.cells[0].sort == P.OFF:
            cells = group.cells if is_undecided_off(group.cells, results) else ()
        else:
            cells = [cell for cell in group.cells if is_undecided(cell, results)]
        out += [P.with_cells(group, cells)] if cells else []
    return out


def row(cell, group, results):
    """Returns the entry of a case that has one cell."""
    pairs = pairs_of(cell, results)
    ratio, spread = (pairs.ratio, pairs.interval) if cell.above_at_most is None else (None, None)
    word, why = missing([cell], results) or (judged(cell, pairs) if cell.above_at_most is None else judged_by_difference(cell, results))
    return T.entry(
        cell.case, cell.unit, results.value(cell.name, column(cell)), {P.LABELS[cell.mpi]: results.value(cell.name, cell.mpi)}, None, None,
        ranks=group.ranks, bytes=cell.bytes, ratio=ratio, ratio_interval=listed(spread), **V.keys(word, why, must_text(cell)),
        **taken(group, [cell], results), **compared([cell], group, results))


def compared(cells, group, results):
    """Returns the keys of an entry that compare with another build, over all of its cells; none if there is no other build."""
    if not group.before:
        return {}
    together = Pairs()
    for cell in cells:
        for start, ratios in results.pair(cell.name, group.before).starts.items():
            for ratio in ratios:
                together.add(start, ratio)
    return B.keys(B.inverse(together), results.value(cells[0].name, group.before) if len(cells) == 1 else None)


def listed(interval):
    return list(interval) if interval else None


def judged(cell, pairs):
    verdict = V.Judgement()
    if cell.faster is not None:
        verdict.hold(pairs.ratio >= cell.faster, f"{pairs.ratio:.2f} x")
    return verdict.result(f"{pairs.ratio:.2f} x")


def judged_by_difference(cell, results):
    """Times that may be next to nothing are no ratio."""
    mine, theirs = results.value(cell.name, column(cell)), results.value(cell.name, cell.mpi)
    verdict = V.Judgement()
    verdict.hold(mine - theirs <= cell.above_at_most, f"{number(mine)} {cell.unit}, {P.LABELS[cell.mpi]} {number(theirs)}")
    return verdict.result()


def taken(group, cells, results):
    """Returns the keys that say what a verdict was made from."""
    every = [pairs_of(cell, results) for cell in cells]
    named = {name: [why for cell in cells for why in failures(cell, results)[name]] for name in failures(cells[0], results)}
    trips = [trip for cell in cells if (trip := results.trip_ns(cell.name)) is not None]
    return {"pairs": sum(len(pairs.values) for pairs in every), "dropped": sum(pairs.dropped for pairs in every),
            "starts": max((len(pairs.starts) for pairs in every), default=0), "cacheline_ns": median(trips),
            "failures": {name: list(dict.fromkeys(found)) for name, found in named.items() if found}}


def ratio_entry(case, mpi, value, interval, word, why, must, **more):
    """Returns the entry of a case whose number is made from the ratios of several cells."""
    return T.entry(case, "ratio", value, {P.LABELS[mpi]: 1.0 if value else None}, None, None, ratio=value, ratio_interval=listed(interval),
                   **V.keys(word, why, must), **more)


def off_pairs(cells, results):
    """Returns the ratios of all these cells together, our time / the MPI's."""
    together = Pairs()
    for cell in cells:
        for start, ratios in pairs_of(cell, results).starts.items():
            for ratio in ratios:
                together.add(start, 1 / ratio)
    return together


def off_row(case, cells, group, results):
    """Returns one entry for several collectives: the median of all ratios, our time / the MPI's."""
    together = off_pairs(cells, results)
    low, high = P.OFF_BAND
    value, found = together.ratio, missing(cells, results)
    if not found:
        verdict = V.Judgement()
        verdict.hold(low <= value <= high, f"{value:.3f} over {len(cells)} collectives")
        found = verdict.result()
    return ratio_entry(case, cells[0].mpi, value, together.interval, *found, f"{low}..{high}", ranks=group.ranks, **taken(group, cells, results))


def osu_row(case, cells, group, results):
    """Returns one entry for all sizes of a collective; its ratio is that of the size with the lowest interval."""
    found, sizes = missing(cells, results), [size_entry(cell, results) for cell in cells]
    measured = [one for one in sizes if one["ratio_interval"]]
    worst = min(measured, key=lambda one: one["ratio_interval"][1]) if measured else None
    if not found:
        below = [one for one in sizes if one["ratio_interval"][1] < P.NEVER_BELOW]
        verdict = V.Judgement()
        verdict.hold(not below, "; ".join(f"{one['size']}: {one['ratio']:.2f} ({T.interval_text(one['ratio_interval'])})" for one in below)
                     or f"lowest {worst['ratio']:.2f} at {worst['size']}")
        found = verdict.result()
    return ratio_entry(case, cells[0].mpi, worst and worst["ratio"], worst and worst["ratio_interval"], *found,
                       f"no size wholly below {P.NEVER_BELOW}", ranks=group.ranks, sizes=sizes, **taken(group, cells, results),
                       **compared(cells, group, results))


def size_entry(cell, results):
    pairs = pairs_of(cell, results)
    return {"size": P.size_name(cell.bytes), "bytes": cell.bytes, "sumac": results.value(cell.name, column(cell)),
            "peer": results.value(cell.name, cell.mpi), "ratio": pairs.ratio, "ratio_interval": listed(pairs.interval)}


def median_row(mpi, cells, results):
    """Returns the entry for the median of all collectives that move data with this MPI."""
    found, ratios = missing(cells, results), [ratio for cell in cells if (ratio := pairs_of(cell, results).ratio) is not None]
    value = median(ratios)
    if not found:
        verdict = V.Judgement()
        verdict.hold(value >= P.MEDIAN_AT_LEAST, f"{value:.2f} x over {len(cells)} cells")
        found = verdict.result()
    return ratio_entry(P.median_case(mpi), mpi, value, None, *found, f"{P.MEDIAN_AT_LEAST:g} x faster", ranks=2, failures={})


def rows(groups, results, names):
    """Returns the entries of the cases in `names`, in the order of the groups."""
    out = []
    for group in groups:
        for case in dict.fromkeys(cell.case for cell in group.cells if cell.case in names):
            cells = [cell for cell in group.cells if cell.case == case]
            if cells[0].sort == P.TIMED:
                out.append(row(cells[0], group, results))
            else:
                out.append({P.OFF: off_row, P.OSU: osu_row}[cells[0].sort](case, cells, group, results))
        moving = [cell for cell in group.cells if cell.sort == P.TIMED and cell.kind in P.MOVING]
        if moving and P.median_case(moving[0].mpi) in names:
            out.append(median_row(moving[0].mpi, moving, results))
    return out


HEAD = ("case", "unit", "MPI alone", "with Sumac", "MPI / Sumac", "95 %", "must hold", "", "cache line")
OSU_HEAD = ("OSU's loop", "MPI alone, us", "with Sumac, us", "MPI / Sumac", "95 %")


def table(entries):
    """Returns the lines of the tables in Markdown: all cases, and the sizes of OSU's loop."""
    with_before = any("before" in one for one in entries)
    body = [(one["case"], one["unit"], number(next(iter(one["peers"].values())), one["unit"]), number(one["sumac"], one["unit"]),
             f"{one['ratio']:.2f}" if one.get("ratio") else "-", T.interval_text(one.get("ratio_interval")), one["must"], one["verdict"],
             f"{one['cacheline_ns']:.0f} ns" if one.get("cacheline_ns") else "-", *(B.texts(one) if with_before else ())) for one in entries]
    sizes = [(f"{one['case']} {size['size']}", number(size["peer"], "us"), number(size["sumac"], "us"),
              f"{size['ratio']:.2f}" if size["ratio"] else "-", T.interval_text(size["ratio_interval"]))
             for one in entries for size in one.get("sizes", ())]
    return T.markdown((*HEAD, *(B.HEAD if with_before else ())), body) + (["", *T.markdown(OSU_HEAD, sizes)] if sizes else [])


def by_mpi(entries):
    """Returns the lines of a table of the ratios: one row for each case that is compared for every MPI, one column for each of them."""
    ratios = {entry["case"]: entry.get("ratio") for entry in entries}
    names = list(dict.fromkeys(case.removesuffix(f"-{P.MPIS[0]}") for case in ratios if case.endswith(f"-{P.MPIS[0]}")))
    rows = [[name, *(ratios.get(f"{name}-{mpi}") for mpi in P.MPIS)] for name in names]

    def text(name, ratio):
        return f"{ratio:.3f}" if name == "off-cost" else f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2f}"

    return T.markdown(["case", *(P.LABELS[mpi] for mpi in P.MPIS)],
                      [[name, *(text(name, ratio) for ratio in found)] for name, *found in rows if None not in found])
