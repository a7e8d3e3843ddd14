"""Verdicts, the table, build/host.json and build/host.txt."""

import json

from demolib.stats import median

from . import cliffs, plan as P

PASS, FAIL, OPEN, REPORTED = "pass", "FAIL", "open", "reported"


def number(value, unit="us"):
    if value is None:
        return "-"
    if unit == "ratio":
        return f"{value:.3f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


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
    if cell.band is not None:
        words.append(f"{cell.band[0]}..{cell.band[1]}")
    return ", ".join(words) or "-"


def best_of(cell, table, peers):
    """The peer that is hardest to beat: least paired ratio, or least time where there are no pairs."""
    ratios = {peer: table.pairs[cell.name, peer].ratio for peer in peers
              if (cell.name, peer) in table.pairs and table.pairs[cell.name, peer].ratio is not None}
    if ratios:
        return min(ratios, key=ratios.get)
    values = {peer: table.column(cell.name, peer).value for peer in peers if table.column(cell.name, peer).value is not None}
    return min(values, key=values.get) if values else None


def judge(cell, group, table):
    """(verdict, why, best peer, ratio, interval). The ratio is the best peer's time by ours, so more is better."""
    mine = table.column(cell.name, group.reference)
    rivals = [peer for peer in group.peers if not (cell.over_sm and peer == P.OMPI5_SM)]
    best = best_of(cell, table, rivals)
    pairs = table.pairs.get((cell.name, best)) if best else None
    ratio, spread = (pairs.ratio, pairs.interval) if pairs else (None, None)
    if mine.failures:
        return FAIL, mine.failures[0], best, ratio, spread
    if mine.value is None:
        return OPEN, "not run", best, ratio, spread
    why, ok, judged = [], True, False

    def hold(good, words):
        nonlocal ok, judged
        ok, judged = ok and good, True
        why.append(words)
    if cell.over_sm is not None:
        sm = table.pairs.get((cell.name, P.OMPI5_SM))
        if sm is None or sm.ratio is None:
            return OPEN, "coll/sm has no number to compare with", best, ratio, spread
        hold(1 / sm.ratio <= cell.over_sm, f"{1 / sm.ratio:.2f} x coll/sm")
    if cell.faster is not None or cell.times_at_most is not None:
        if ratio is None:
            return OPEN, "no peer to compare with", best, ratio, spread
        if cell.faster is not None:
            hold(ratio >= cell.faster, f"{ratio:.2f} x faster than {P.LABELS[best]}")
        else:
            hold(1 / ratio <= cell.times_at_most, f"{1 / ratio:.2f} x the time of {P.LABELS[best]}")
    if cell.at_least is not None:
        hold(mine.value >= cell.at_least, number(mine.value))
    if cell.at_most is not None:
        hold(mine.value <= cell.at_most, f"{number(mine.value)} {cell.unit}")
    if not judged:
        return REPORTED, f"{ratio:.2f} x {P.LABELS[best]}" if ratio else "no target", best, ratio, spread
    return (PASS if ok else FAIL), "; ".join(why), best, ratio, spread


def rows(groups, table, absent):
    """The entries of build/host.json. The first six keys are the interface; the rest is for readers."""
    out = []
    for group in groups:
        if not group.peers:
            out += cliffs.rows(group, table)
            continue
        for cell in group.cells:
            if cell.band is None:
                out.append(row(cell, group, table, absent))
    for group in groups:
        if any(cell.band for cell in group.cells):
            out.append(off_row(group, table))
    return out


def row(cell, group, table, absent):
    word, why, best, ratio, spread = judge(cell, group, table)
    if cell.at_most is not None or cell.at_least is not None:
        ratio = spread = None  # judged by themselves
    peers = {P.LABELS[peer]: table.column(cell.name, peer).value for peer in group.peers}
    failures = {P.LABELS[name]: column.failures[0] for (case, name), column in table.columns.items()
                if case == cell.name and column.failures}
    every = {peer: table.pairs[cell.name, peer] for peer in group.peers if (cell.name, peer) in table.pairs}
    return {
        "case": cell.name, "unit": cell.unit, "sumac": table.column(cell.name, group.reference).value, "peers": peers,
        "limit": cell.limit, "bare": table.column(cell.name, P.BARE).value if group.bare else None,
        "ranks": group.ranks, "bytes": cell.bytes, "best_peer": P.LABELS.get(best), "ratio": ratio,
        "ratio_interval": list(spread) if spread else None, "must": must_text(cell),
        "ok": {PASS: True, FAIL: False}.get(word), "verdict": word, "why": why,
        "ratios": {P.LABELS[peer]: pairs.ratio for peer, pairs in every.items()},
        "pairs": {P.LABELS[peer]: len(pairs.values) for peer, pairs in every.items()},
        "dropped": sum(pairs.dropped for pairs in every.values()), "starts": group.starts,
        "cacheline_ns": table.trip_ns(cell.name), "failures": failures,
        "absent": {P.LABELS[name]: reason for name, reason in absent.items() if name in (group.reference, *group.peers)},
    }


def off_row(group, table):
    """Cells of several collectives, one number: the median of all paired ratios, ours by theirs."""
    cells = [cell for cell in group.cells if cell.band]
    first, pairs = cells[0], table.pair(cells[0].name, P.OMPI4)
    values = [1 / value for value in pairs.values]
    ratio, spread = median(values), pairs.interval
    failures = table.column(first.name, group.reference).failures
    ok = None if ratio is None else first.band[0] <= ratio <= first.band[1]
    verdict = FAIL if failures or ok is False else OPEN if ok is None else PASS
    return {
        "case": first.name, "unit": "ratio", "sumac": ratio, "peers": {P.LABELS[P.OMPI4]: 1.0 if ratio else None}, "limit": None,
        "bare": None, "ranks": group.ranks, "best_peer": P.LABELS[P.OMPI4], "ratio": ratio,
        "ratio_interval": [1 / spread[1], 1 / spread[0]] if spread else None, "must": must_text(first), "ok": ok, "verdict": verdict,
        "why": failures[0] if failures else "no pair" if ratio is None else f"{ratio:.3f} over {len(cells)} collectives",
        "pairs": {P.LABELS[P.OMPI4]: len(values)}, "dropped": pairs.dropped, "starts": group.starts,
        "cacheline_ns": table.trip_ns(first.name),
    }


HEAD = ("case", "unit", "bare", *(P.LABELS[peer] for peer in P.PEERS), "Sumac", "best peer / Sumac", "95 %", "must hold", "",
        "cache line")


def table(entries):
    """Lines of a Markdown table, columns padded so that it also reads in a terminal."""
    body = []
    for entry in entries:
        unit, spread = entry["unit"], entry["ratio_interval"]
        peers = [number(entry["peers"].get(P.LABELS[peer]), unit) for peer in P.PEERS]
        peers = [f"**{text}**" if P.LABELS[peer] == entry["best_peer"] else text for text, peer in zip(peers, P.PEERS)]
        body.append((entry["case"], unit, number(entry["bare"], unit), *peers, number(entry["sumac"], unit),
                     f"{entry['ratio']:.2f}" if entry["ratio"] and unit != "%" else "-",
                     f"{spread[0]:.2f}..{spread[1]:.2f}" if spread and unit != "%" else "-", entry["must"], entry["verdict"],
                     f"{entry['cacheline_ns']:.0f} ns" if entry["cacheline_ns"] else "-"))
    widths = [max(len(line[i]) for line in [HEAD, *body]) for i in range(len(HEAD))]
    return ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |"
            for line in [HEAD, tuple("-" * width for width in widths), *body]]


def footnotes(table, clock, absent, stolen, interrupted=False):
    trips = [trip for column in table.columns.values() for trip in column.trips]
    dropped = sum(pairs.dropped for pairs in table.pairs.values())
    kept = sum(len(pairs.values) for pairs in table.pairs.values())
    lines = [f"{clock.elapsed / 60:.1f} min{', interrupted' if interrupted else ''}; {kept} pairs, {dropped} dropped because the machine changed between their turns."]
    if trips:
        trips.sort()
        lines.append(f"Cache line to and fro: median {median(trips):.0f} ns, {trips[len(trips) // 20]:.0f}.."
                     f"{trips[-len(trips) // 20 - 1]:.0f} ns in 90 % of the turns.")
    if stolen.words():
        lines.append(f"This machine had {stolen.words()}.")
    lines += [f"Without {P.LABELS[name]}: {why}." for name, why in absent.items()]
    return lines


def write(path, entries, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n")


def complain(entries):
    """Prints what does not hold; the exit status of the whole. That a peer failed is told and is not our failure."""
    status = 0
    for entry in entries:
        for name, why in entry.get("failures", {}).items():
            print(f"{entry['case']}: {name}: {why}")
        if entry["verdict"] == FAIL:
            print(f"{entry['case']}: must hold {entry['must']}: {entry['why']}")
        if entry["ok"] is not True and entry["must"] != "-":
            status = 1
    return status
