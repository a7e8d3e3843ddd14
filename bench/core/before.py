"""Compares this build with another build of the same source: the same cases alternate with the other build's component and daemons."""

from . import pairs as P
from .table import interval_text, number

ALLOWED = 1.03  # A case is slower only if its whole interval lies above this ratio.
PAIRS_MIN = 5  # With fewer pairs the interval is only the smallest and the largest ratio.
COLUMN = "before"


def keys(pairs, value):
    """Returns the keys of a JSON entry that compare with the other build. `pairs` has the ratios this build / other build of all turns; it is
    None if there are none."""
    spread = pairs.interval if pairs and len(pairs.values) >= PAIRS_MIN else None
    return {"before": value, "over_before": pairs.ratio if pairs else None, "over_before_interval": list(spread) if spread else None,
            "before_ok": spread[0] <= ALLOWED if spread else None}


def keys_of(name, column, results, without_value=False):
    """Returns the same keys from the pairs of a cell with the other build's column; no key if there is no such column."""
    if not column:
        return {}
    return keys(inverse(results.pairs.get((name, column))), None if without_value else results.value(name, column))


def inverse(pairs):
    """Returns pairs with the inverse ratios; None stays None."""
    if pairs is None:
        return None
    out = P.Pairs()
    for start, group in pairs.starts.items():
        for ratio in group:
            out.add(start, 1 / ratio)
    return out


HEAD = ("before", "/ before", "95 %")


def texts(entry):
    """Returns the cells of the columns in HEAD."""
    ratio = entry.get("over_before")
    return (number(entry.get("before"), entry["unit"]), f"{ratio:.2f}" if ratio is not None else "-",
            interval_text(entry.get("over_before_interval")))


def summary(entries):
    """Returns (lines with the verdict over all cases, exit status)."""
    slower = [one for one in entries if one.get("before_ok") is False]
    unknown = [one["case"] for one in entries if one.get("before_ok") is None]
    lines = [f"{one['case']}: {one['over_before']:.2f} x before ({interval_text(one['over_before_interval'])}): all of it above {ALLOWED}"
             for one in slower]
    if not slower:
        lines = [f"No case whose interval lies wholly above {ALLOWED} x before, of {len(entries) - len(unknown)}."]
    if unknown:
        lines.append(f"Without an interval against before: {', '.join(unknown)}.")
    return lines, 1 if slower else 0
