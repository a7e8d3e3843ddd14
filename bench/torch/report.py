"""Judges the cells, and prints the table."""

from core import before as B
from core import table as T
from core import verdict as V
from core.pairs import median
from core.table import number

import plan as P


def row(cell, results, trip_ns):
    """The entry of build/torch.json for a collective."""
    pairs = results.pair(cell.name, P.GLOO)
    mine, ratio, interval = results.cell(cell.name, P.SUMAC), pairs.ratio, pairs.interval
    above = median([ours - other for ours, other in zip(mine.values, results.cell(cell.name, P.NOTHING).values)])
    by_component = results.value(cell.name, P.COMPONENT)
    word, why = _verdict(cell, mine, ratio, interval, above, by_component)
    more = {} if cell.over_nothing_us is None else {"above_nothing_us": above}
    peers = {P.LABELS[P.GLOO]: results.value(cell.name, P.GLOO)}
    if by_component is not None:
        peers[P.LABELS[P.COMPONENT]] = by_component
    return T.entry(cell.name, "us", mine.value, peers, None,
                   results.value(cell.name, P.NOTHING), ranks=cell.ranks, bytes=cell.bytes, best_peer=P.LABELS[P.GLOO], ratio=ratio,
                   ratio_interval=list(interval) if interval else None, **V.keys(word, why, cell.must()), pairs={P.LABELS[P.GLOO]: len(pairs.values)},
                   cacheline_ns=trip_ns, failures={P.LABELS[name]: one.failures for name, one in results.of(cell.name).items() if one.failures}, **more,
                   **B.keys_of(cell.name, B.COLUMN if results.cell(cell.name, B.COLUMN).values else None, results))


def _verdict(cell, mine, ratio, interval, above, by_component):
    if mine.failures:
        return V.FAIL, mine.failures[0]
    if mine.value is None or ratio is None:
        return V.OPEN, "not run"
    judged = V.Judgement()
    # A ratio fails when its interval lies wholly below the limit.
    judged.hold((interval[1] if interval else ratio) >= cell.faster, f"{ratio:.2f} x faster than gloo")
    if cell.over_nothing_us is not None:
        judged.hold(above <= cell.over_nothing_us, f"{above:.1f} us above a backend that does nothing")
    if cell.over_component is not None:
        judged.hold(mine.value <= cell.over_component * by_component, f"{mine.value / by_component:.2f} x the MPI component")
    word, why = judged.result()
    if word == V.PASS and ratio < cell.faster:
        return V.OPEN, why + ": its interval holds the limit"
    return word, why


def between(case, results):
    """The entry of a case between hosts."""
    pairs, mine, gloo = results.pair(case.name, P.GLOO), results.cell(case.name, P.SUMAC), results.value(case.name, P.GLOO)
    alone, more = results.value(case.name, P.ALONE), {}
    if mine.failures or mine.value is None:
        word, why = V.FAIL, mine.failures[0] if mine.failures else "not run"
    else:
        judged = V.Judgement()
        judged.hold((pairs.interval[1] if pairs.interval else pairs.ratio) >= case.faster, f"{pairs.ratio:.2f} x faster than gloo")
        if case.over_limit:
            judged.hold(mine.value <= case.over_limit * case.limit_ms, f"{mine.value / case.limit_ms:.2f} x {case.limit_is}")
        if case.over_one:
            more["one_ms"] = one = results.value(case.name, P.ONE)
            judged.hold(mine.value <= case.over_one * one, f"{mine.value / one:.2f} x one alone")
        other = results.value(case.beside, P.SUMAC) if case.beside else None
        if other is not None:
            judged.hold(mine.value <= other, f"{mine.value / other:.2f} x {case.beside}")
        word, why = judged.result()
        if case.beside and other is None and word == V.PASS:
            word, why = V.OPEN, f"{case.beside} was not run"
        if case.alone_share_max:
            more["alone_ms"] = alone
            if alone > case.alone_share_max * gloo:
                word, why = V.OPEN, f"void: the step alone takes {alone / gloo:.2f} of gloo's"
    return T.entry(case.name, "ms", mine.value, {P.LABELS[P.GLOO]: gloo}, case.limit_ms, None, bytes=case.bytes,
                   best_peer=P.LABELS[P.GLOO], ratio=pairs.ratio, ratio_interval=list(pairs.interval) if pairs.interval else None, cacheline_ns=None,
                   **V.keys(word, why, case.must()), failures={"sumac": mine.failures} if mine.failures else {}, **more)


def limited(case, unit, value, at_most, failure=None, **more):
    """The entry of a case with one number and its limit."""
    if failure:
        word, why = V.FAIL, failure
    else:
        word, why = (V.PASS if value <= at_most else V.FAIL), f"{value:.3g}"
    return T.entry(case, unit, value, {}, at_most, None, best_peer=None, ratio=None, ratio_interval=None, cacheline_ns=None,
                   **V.keys(word, why, f"<= {at_most:g}"), failures={"sumac": [failure]} if failure else {}, **more)


def table(entries):
    """The lines of the table in Markdown."""
    with_before = any("before" in one for one in entries)
    body = [(one["case"], one["unit"], number(one["bare"], one["unit"]), number(one["peers"].get(P.LABELS[P.GLOO]), one["unit"]),
             number(one["sumac"], one["unit"]), f"{one['ratio']:.2f}" if one["ratio"] else "-", T.interval_text(one["ratio_interval"]), one["must"],
             one["verdict"], f"{one['cacheline_ns']:.0f} ns" if one["cacheline_ns"] else "-",
             *(B.texts(one) if with_before else ())) for one in entries]
    head = ("case", "unit", "nothing", "gloo", "Sumac", "gloo / Sumac", "95 %", "must hold", "", "cache line")
    return T.markdown((*head, *(B.HEAD if with_before else ())), body)
