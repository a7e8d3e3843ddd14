"""Judges the cells of `make bench-host`, and prints its table."""

from core import before as B
from core import table as T
from core import verdict as V
from core.pairs import median
from core.table import number

from . import cliffs, plan as P


def must_text(cell):
    words = []
    if cell.over_sm is not None:
        words.append(f"<= {cell.over_sm} x coll/sm")
    if cell.faster is not None:
        words.append(f"{cell.faster} x faster" + (" than the best default" if cell.over_sm else ""))
    if cell.at_least is not None:
        words.append(f">= {cell.at_least}")
    if cell.at_most is not None:
        words.append(f"<= {cell.at_most:g} {cell.unit}")
    if cell.times_at_most is not None:
        words.append(f"<= {cell.times_at_most:g} x the peer's time")
    if cell.above_at_most is not None:
        words.append(f"<= the best peer's + {cell.above_at_most:g} {cell.unit}")
    if cell.band is not None:
        words.append(f"{cell.band[0]}..{cell.band[1]}")
    if cell.gain is not None:
        words.append(f">= {cell.gain:g} of what teams made at once save")
    return ", ".join(words) or "reported"


def best_of(cell, results, peers):
    """The peer that is hardest to beat: least paired ratio, or least time where there are no pairs."""
    ratios = {peer: results.pairs[cell.name, peer].ratio for peer in peers
              if (cell.name, peer) in results.pairs and results.pairs[cell.name, peer].ratio is not None}
    return min(ratios, key=ratios.get) if ratios else results.fastest(cell.name, peers)


def judge(cell, group, results):
    """(verdict, why, best peer, ratio, interval). The ratio is the best peer's time by ours, so more is better."""
    mine = results.cell(cell.name, group.reference)
    rivals = [peer for peer in group.rivals if not (cell.over_sm and peer == P.OMPI5_SM)]
    best = best_of(cell, results, rivals)
    pairs = results.pairs.get((cell.name, best)) if best else None
    ratio, spread = (pairs.ratio, pairs.interval) if pairs else (None, None)
    if cell.gain is not None and not mine.failures:
        return *gained(cell, group, results), best, ratio, spread
    if cell.above_at_most is not None and not mine.failures:
        best = results.fastest(cell.name, rivals)
        return *compared_by_difference(cell, mine.value, results.value(cell.name, best) if best else None, best), best, None, None
    return *verdict(cell, mine, results.pairs.get((cell.name, P.OMPI5_SM)), best, ratio), best, ratio, spread


def compared_by_difference(cell, mine, theirs, best):
    """Returns verdict and reason of a cell whose times may be next to nothing, so that their ratio says little."""
    if mine is None or theirs is None:
        return V.OPEN, "not run" if mine is None else "no peer to compare with"
    judged = V.Judgement()
    judged.hold(mine - theirs <= cell.above_at_most, f"{number(mine)} {cell.unit}, {P.LABELS[best]} {number(theirs)}")
    return judged.result()


def gained(cell, group, results):
    """Returns verdict and reason of a cell that is judged by what it saves: of the peer's time, beside the same with teams made at once."""
    mine, theirs, at_once = (results.value(cell.name, name) for name in (group.reference, P.OMPI4, P.AT_ONCE))
    if None in (mine, theirs, at_once) or theirs <= at_once:
        return V.OPEN, "not run" if None in (mine, theirs, at_once) else "teams made at once save nothing here"
    part = (theirs - mine) / (theirs - at_once)
    judged = V.Judgement()
    judged.hold(part >= cell.gain, f"{part:.3f} of {number(theirs - at_once)} {cell.unit}")
    return judged.result()


def verdict(cell, mine, sm, best, ratio):
    if mine.failures:
        return V.FAIL, mine.failures[0]
    if mine.value is None:
        return V.OPEN, "not run"
    judged = V.Judgement()
    if cell.over_sm is not None:
        if sm is None or sm.ratio is None:
            return V.OPEN, "coll/sm has no number to compare with"
        judged.hold(1 / sm.ratio <= cell.over_sm, f"{1 / sm.ratio:.2f} x coll/sm")
    if (cell.faster is not None or cell.times_at_most is not None) and ratio is None:
        return V.OPEN, "no peer to compare with"
    if cell.faster is not None:
        judged.hold(ratio >= cell.faster, f"{ratio:.2f} x faster than {P.LABELS[best]}")
    if cell.times_at_most is not None:
        judged.hold(1 / ratio <= cell.times_at_most, f"{1 / ratio:.2f} x the time of {P.LABELS[best]}")
    if cell.at_least is not None:
        judged.hold(mine.value >= cell.at_least, number(mine.value))
    if cell.at_most is not None:
        judged.hold(mine.value <= cell.at_most, f"{number(mine.value)} {cell.unit}")
    return judged.result(f"{ratio:.2f} x {P.LABELS[best]}" if ratio else "no target")


def rows(groups, results, absent):
    """Returns the entries of build/host.json."""
    out = []
    for group in groups:
        if not group.peers:
            out += cliffs.rows(group, results)
            continue
        out += [row(cell, group, results, absent) for cell in group.cells if cell.band is None]
    return out + [off_row(group, results) for group in groups if any(cell.band for cell in group.cells)]


def row(cell, group, results, absent):
    word, why, best, ratio, spread = judge(cell, group, results)
    if cell.at_most is not None or cell.at_least is not None:
        ratio = spread = None  # judged by themselves
    every = {peer: results.pairs[cell.name, peer] for peer in group.rivals if (cell.name, peer) in results.pairs}
    return T.entry(
        cell.name, cell.unit, results.value(cell.name, group.reference),
        {P.LABELS[peer]: results.value(cell.name, peer) for peer in group.rivals},
        results.value(cell.name, P.COPIES) if cell.limit is None else cell.limit,
        results.value(cell.name, P.BARE) if group.bare else None, ranks=group.ranks, bytes=cell.bytes, best_peer=P.LABELS.get(best),
        ratio=ratio, ratio_interval=list(spread) if spread else None, **V.keys(word, why, must_text(cell)),
        ratios={P.LABELS[peer]: pairs.ratio for peer, pairs in every.items()},
        pairs={P.LABELS[peer]: len(pairs.values) for peer, pairs in every.items()},
        dropped=sum(pairs.dropped for pairs in every.values()), starts=group.starts, cacheline_ns=results.trip_ns(cell.name),
        failures={P.LABELS[name]: column.failures for name, column in results.of(cell.name).items() if column.failures},
        absent={P.LABELS[name]: reason for name, reason in absent.items() if name in (group.reference, *group.peers)},
        **compared(cell, group, results))


def compared(cell, group, results):
    """Returns the keys of an entry that compare with another build; none if there is no other build."""
    return B.keys_of(cell.name, group.before, results, without_value=bool(cell.band))


def off_row(group, results):
    """Cells of several collectives, one number: the median of all paired ratios, ours by theirs."""
    cells = [cell for cell in group.cells if cell.band]
    first, pairs = cells[0], results.pair(cells[0].name, P.OMPI4)
    values = [1 / value for value in pairs.values]
    ratio, spread = median(values), pairs.interval
    failures = results.cell(first.name, group.reference).failures
    judged = V.Judgement()
    if failures:
        judged.hold(False, failures[0])
    elif ratio is not None:
        judged.hold(first.band[0] <= ratio <= first.band[1], f"{ratio:.3f} over {len(cells)} collectives")
    word, why = judged.result() if judged.why else (V.OPEN, "no pair")
    return T.entry(
        first.name, "ratio", ratio, {P.LABELS[P.OMPI4]: 1.0 if ratio else None}, None, None, ranks=group.ranks,
        best_peer=P.LABELS[P.OMPI4], ratio=ratio, ratio_interval=[1 / spread[1], 1 / spread[0]] if spread else None,
        **V.keys(word, why, must_text(first)), pairs={P.LABELS[P.OMPI4]: len(values)}, dropped=pairs.dropped, starts=group.starts,
        cacheline_ns=results.trip_ns(first.name), **compared(first, group, results))


HEAD = ("case", "unit", "limit", "bare", *(P.LABELS[peer] for peer in P.PEERS), "Sumac", "best peer / Sumac", "95 %", "must hold", "",
        "cache line")


def table(entries):
    """Returns the lines of the table in Markdown."""
    body, with_before = [], any("before" in entry for entry in entries)
    for entry in entries:
        unit, spread = entry["unit"], entry["ratio_interval"]
        peers = [number(entry["peers"].get(P.LABELS[peer]), unit) for peer in P.PEERS]
        peers = [f"**{text}**" if P.LABELS[peer] == entry["best_peer"] else text for text, peer in zip(peers, P.PEERS)]
        body.append((entry["case"], unit, number(entry["limit"], unit), number(entry["bare"], unit), *peers, number(entry["sumac"], unit),
                     f"{entry['ratio']:.2f}" if entry["ratio"] and unit != "%" else "-",
                     T.interval_text(spread if unit != "%" else None), entry["must"], entry["verdict"],
                     f"{entry['cacheline_ns']:.0f} ns" if entry["cacheline_ns"] else "-",
                     *(B.texts(entry) if with_before else ())))
    return T.markdown((*HEAD, *(B.HEAD if with_before else ())), body)


def footnotes(results, clock, absent, stolen):
    trips = sorted(trip for cells in results.cells.values() for cell in cells.values() for trip in cell.trips)
    dropped = sum(pairs.dropped for pairs in results.pairs.values())
    kept = sum(len(pairs.values) for pairs in results.pairs.values())
    lines = [f"{clock.elapsed / 60:.1f} min{', interrupted' if results.interrupted else ''}; {kept} pairs, {dropped} dropped because the machine "
             "changed between their turns."]
    if trips:
        lines.append(f"Cache line to and fro: median {median(trips):.0f} ns, {trips[len(trips) // 20]:.0f}.."
                     f"{trips[-len(trips) // 20 - 1]:.0f} ns in 90 % of the turns.")
    if stolen.words():
        lines.append(f"This machine had {stolen.words()}.")
    return lines + [f"Without {P.LABELS[name]}: {why}." for name, why in absent.items()]
