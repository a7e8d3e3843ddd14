"""Verdicts, the table, build/demo.json and build/demo.txt."""

import json

from .cases import OMPI_DEFAULT, PEERS

PASS, FAIL, OPEN, REPORTED = "pass", "FAIL", "open", "reported"


def over_bare(case, results):
    """Sumac / bare: the median of neighbours' ratios where the two take turns, else that of their medians. None: one is missing."""
    if case.name in results.pairs:
        return results.pairs[case.name].ratio
    column, value = results.bare(case.name), results.value(case.name, "sumac")
    return value / results.value(case.name, column) if column is not None and value is not None else None


def verdict(case, results):
    """(verdict, why) of what must hold. Open: there is no number to judge, and nothing failed."""
    cell = results.cell(case.name, "sumac")
    if cell.failures:
        return FAIL, cell.failures[0]
    value = cell.value
    if value is None:
        return OPEN, results.notes.get(case.name, {}).get("sumac", "void" if cell.void else "not run")
    if case.share_min is not None:
        return (PASS if value >= case.share_min else FAIL), f"{value:.3f} of {case.share_min}"
    why, ok, judged = [], True, False
    if case.bare_share is not None:
        share = over_bare(case, results)
        if share is None:
            return OPEN, "bare has no number to compare with"
        return (PASS if share >= case.bare_share else FAIL), f"{100 * share:.0f} % of bare, wanted {100 * case.bare_share:.0f} %"
    refused = results.notes.get(case.name, {}).get("refused")
    if case.may_refuse and refused:
        return PASS, f"refused: {refused}"
    if case.over_limit is not None and case.limit is None:
        return OPEN, "its limit is not known"
    if case.over_limit is not None:
        ratio, judged = value / case.limit, True
        ok = ok and ratio <= case.over_limit
        why.append(f"{ratio:.2f} x limit, allowed {case.over_limit:.2f}")
    if case.over_bare is not None:
        ratio, judged = over_bare(case, results), True
        if ratio is None:
            return OPEN, "bare has no number to compare with"
        ok = ok and ratio <= case.over_bare
        why.append(f"{ratio:.2f} x bare, allowed {case.over_bare:.2f}")
    if not judged:
        return REPORTED, "no target"
    return (PASS if ok else FAIL), "; ".join(why)


def rows(cases, results, judges=True):
    """The entries of build/demo.json. The first seven keys are the interface; the rest is for readers. Without `judges` none has a verdict."""
    out = []
    for case in cases:
        cells = {c: cell for c, cell in results.cells.get(case.name, {}).items() if c != "cacheline_ns"}
        bare, pairs = results.bare(case.name), results.pairs.get(case.name)
        word, why = verdict(case, results)
        out.append({
            "case": case.name,
            "unit": case.unit,
            "sumac": results.value(case.name, "sumac"),
            "peers": {c: cell.value for c, cell in cells.items() if c.startswith(PEERS)},
            "limit": round(case.limit, 3) if case.limit is not None else None,
            "wire_limit": round(case.wire_limit, 3) if case.wire_limit is not None else None,
            "bare": results.value(case.name, bare) if bare else None,
            "bare_wait": bare,
            "over_bare": over_bare(case, results),
            "over_bare_interval": list(pairs.interval or ()) if pairs else None,
            "sumac_lib": results.value(case.name, "sumac-lib"),
            "best_tuned": results.best_tuned(case.name),
            **({"must": case.must, "ok": {PASS: True, FAIL: False}.get(word), "verdict": word, "why": why} if judges else {}),
            "spread": {c: list(cell.spread) for c, cell in cells.items() if cell.spread},
            "runs": {c: cell.values for c, cell in cells.items()},
            "void": {c: cell.void for c, cell in cells.items() if cell.void},
            "failures": {c: cell.failures for c, cell in cells.items() if cell.failures},
            "notes": results.notes.get(case.name, {}),
            "cacheline_ns": results.value(case.name, "cacheline_ns"),
        })
    return out


def number(value, unit="ms"):
    if value is None:
        return "-"
    if unit == "share":
        return f"{value:.3f}"
    if unit in ("bytes", "1/s"):
        return f"{value / 1e6:.2f}M" if value >= 1e6 else f"{value / 1e3:.1f}k" if value >= 1e4 else f"{value:.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell_text(results, case, column):
    if column is None:
        return "-"
    cell = results.cells.get(case.name, {}).get(column)
    note = results.notes.get(case.name, {}).get(column)
    if cell is None or cell.value is None:
        if cell is not None and cell.failures:
            return "failed"
        return "void" if cell is not None and cell.void else (note or "-")
    text = number(cell.value, case.unit)
    low, high = cell.spread
    if len(cell.values) > 1 and number(low, case.unit) != number(high, case.unit):
        text += f" ({number(low, case.unit)}..{number(high, case.unit)})"
    return text + (f" [{cell.void} void]" if cell.void else "")


def ratio_text(value, base):
    return f"{value / base:.2f}" if value is not None and base else "-"


HEAD = ("case", "limit", "bare", OMPI_DEFAULT, "best tuned", "sumac-lib", "Sumac", "/ limit", "/ bare", "must hold", "")


def table(cases, results):
    """Lines of a Markdown table, columns padded so that it also reads in a terminal."""
    body = []
    for case in cases:
        bare, best = results.bare(case.name), results.best_tuned(case.name)
        value = results.value(case.name, "sumac")
        tuned = cell_text(results, case, best)
        if best:
            tuned += f" [{best.removeprefix('Open MPI ')}]"
        is_time = case.unit == "ms"
        body.append((case.name, number(case.limit, case.unit), cell_text(results, case, bare),
                     cell_text(results, case, OMPI_DEFAULT), tuned, cell_text(results, case, "sumac-lib"),
                     cell_text(results, case, "sumac"), ratio_text(value, case.limit) if is_time else "-",
                     ratio_text(value, results.value(case.name, bare)) if is_time and bare else "-", case.must,
                     verdict(case, results)[0]))
    return markdown(HEAD, body)


def markdown(head, body):
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    return ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
            for row in [head, rule, *body]]


def write(path, entries, lines, picture=""):
    """build/demo.json, and beside it the table as Markdown (build/demo.txt) and as a picture (build/demo.svg)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    if picture:
        path.with_suffix(".svg").write_text(picture)
