"""Judges the pairs of `make bench-apps`, and prints its table."""

from core import table as T
from core import verdict as V
from core.table import interval_text, markdown, number

from .turns import PLAIN, SUMAC, TUNED, percent, tuning_text

HEAD = ("program", "collectives", "Open MPI", "best tuned", "Sumac", "Open MPI / Sumac", "95 %", "best tuned / Sumac", "must hold", "")


def judge(case, results):
    """Returns (verdict, why). A case fails if the whole interval of its ratios lies below the limit. It is open if the limit lies inside an
    interval that is wider than the limit's distance from 1."""
    failures, pairs = results.cell(case.name, SUMAC).failures, results.pairs.get((case.name, PLAIN))
    if failures:
        return V.FAIL, failures[0]
    if pairs is None or not pairs.values:
        return V.OPEN, results.notes.get(case.name, {}).get(SUMAC, "not run")
    interval = pairs.interval
    if interval is None:
        return V.OPEN, f"{pairs.ratio:.2f}, one pair"
    words = f"{pairs.ratio:.2f} ({interval_text(interval)})"
    if interval[1] < case.least:
        return V.FAIL, words
    if interval[0] < case.least and interval[1] - interval[0] > abs(case.least - 1):
        return V.OPEN, f"{words}: too wide"
    return V.PASS, words


def is_open(case, results):
    """Returns whether more pairs may decide it."""
    return judge(case, results)[0] == V.OPEN and bool(results.pair(case.name, PLAIN).values)


def entry(case, results, turn):
    verdict, why = judge(case, results)
    pairs = {column: results.pairs.get((case.name, column)) for column in (PLAIN, TUNED)}
    interval = {column: list(one.interval) if one and one.interval else None for column, one in pairs.items()}
    return T.entry(
        case.name, "s", results.value(case.name, SUMAC), {column: results.value(case.name, column) for column in (PLAIN, TUNED)}, None, None,
        program=case.app.name, what=case.app.what, place=case.place.name, ranks=case.place.ranks, least=case.least,
        share=turn.share, share_sumac=turn.share_sumac, tuning=tuning_text(turn.tuning) if turn.tuning else None,
        ratio=pairs[PLAIN].ratio if pairs[PLAIN] else None, ratio_interval=interval[PLAIN], pairs=len(pairs[PLAIN].values) if pairs[PLAIN] else 0,
        ratio_tuned=pairs[TUNED].ratio if pairs[TUNED] else None, ratio_tuned_interval=interval[TUNED], same_bits=turn.same_bits,
        ways=turn.tally.text if turn.tally else None, **V.keys(verdict, why, case.must),
        failures={column: cell.failures for column, cell in results.of(case.name).items() if cell.failures})


def ratio(value):
    return "-" if value is None else f"{value:.2f}"


def row(one):
    tuned = number(one["peers"][TUNED], "s")
    return (one["case"], "-" if one["share"] is None else percent(one["share"]), number(one["peers"][PLAIN], "s"),
            f"{tuned} [{one['tuning']}]" if one["peers"][TUNED] is not None else "-", number(one["sumac"], "s"), ratio(one["ratio"]),
            interval_text(one["ratio_interval"]), ratio(one["ratio_tuned"]), one["must"], one["verdict"])


def table(entries):
    """Returns the lines of the table; programs that were not run are left out."""
    return markdown(HEAD, [row(one) for one in entries if one["sumac"] is not None or one["failures"]])
