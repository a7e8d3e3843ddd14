"""Verdicts, the table, build/demo.json and build/demo.txt."""

import json

from .cases import OMPI_DEFAULT

PASS, FAIL, OPEN, REPORTED = "pass", "FAIL", "open", "reported"


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
    if case.over_limit is not None:
        ratio, judged = value / case.limit, True
        ok = ok and ratio <= case.over_limit
        why.append(f"{ratio:.2f} x limit, allowed {case.over_limit:.2f}")
    if case.over_bare is not None:
        column = results.bare(case.name)
        if column is None:
            return OPEN, "bare has no number to compare with"
        ratio, judged = value / results.value(case.name, column), True
        ok = ok and ratio <= case.over_bare
        why.append(f"{ratio:.2f} x bare, allowed {case.over_bare:.2f}")
    if not judged:
        return REPORTED, "no target"
    return (PASS if ok else FAIL), "; ".join(why)


def rows(cases, results):
    """The entries of build/demo.json. The first six keys are the interface; the rest is for readers."""
    out = []
    for case in cases:
        cells = {c: cell for c, cell in results.cells.get(case.name, {}).items() if c != "cacheline_ns"}
        bare = results.bare(case.name)
        word, why = verdict(case, results)
        out.append({
            "case": case.name,
            "unit": case.unit,
            "sumac": results.value(case.name, "sumac"),
            "peers": {c: cell.value for c, cell in cells.items() if c.startswith("Open MPI")},
            "limit": round(case.limit, 3),
            "bare": results.value(case.name, bare) if bare else None,
            "bare_wait": bare,
            "sumac_lib": results.value(case.name, "sumac-lib"),
            "best_tuned": results.best_tuned(case.name),
            "must": case.must,
            "ok": {PASS: True, FAIL: False}.get(word),
            "verdict": word,
            "why": why,
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
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cell_text(results, case, column):
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


def _ratio(value, base):
    return f"{value / base:.2f}" if value is not None and base else "-"


HEAD = ("case", "limit", "bare", OMPI_DEFAULT, "best tuned", "sumac-lib", "Sumac", "/ limit", "/ bare", "must hold", "")


def table(cases, results):
    """Lines of a Markdown table, columns padded so that it also reads in a terminal."""
    body = []
    for case in cases:
        bare, best = results.bare(case.name), results.best_tuned(case.name)
        value = results.value(case.name, "sumac")
        tuned = _cell_text(results, case, best)
        if best:
            tuned += f" [{best.removeprefix('Open MPI ')}]"
        is_time = case.unit == "ms"
        body.append((case.name, number(case.limit, case.unit), _cell_text(results, case, bare),
                     _cell_text(results, case, OMPI_DEFAULT), tuned, _cell_text(results, case, "sumac-lib"),
                     _cell_text(results, case, "sumac"), _ratio(value, case.limit) if is_time else "-",
                     _ratio(value, results.value(case.name, bare)) if is_time and bare else "-", case.must,
                     verdict(case, results)[0]))
    widths = [max(len(row[i]) for row in [HEAD, *body]) for i in range(len(HEAD))]
    rule = ["-" * width for width in widths]
    return ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
            for row in [HEAD, rule, *body]]


def write(path, entries, lines, picture=""):
    """build/demo.json, and beside it the table as Markdown (build/demo.txt) and as a picture (build/demo.svg)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    if picture:
        path.with_suffix(".svg").write_text(picture)
