"""Judges a case in a fabric, makes its entry in the JSON file, and prints the table of `make bench`."""

from core import table as T
from core import verdict as V
from core.table import number

from .cases import OMPI_DEFAULT, PEERS


def best_tuned(results, case):
    """Returns the column of the fastest tuned algorithm; None if none ran."""
    return results.fastest(case, [c for c in results.of(case) if c.startswith("Open MPI ") and c != OMPI_DEFAULT])


def over_bare(case, results):
    """Returns Sumac / bare: the median of the neighbours' ratios if the two alternate, else the ratio of their medians; None if one is missing."""
    if (case.name, "bare") in results.pairs:
        return results.pairs[case.name, "bare"].ratio
    column, value = results.bare(case.name), results.value(case.name, "sumac")
    return value / results.value(case.name, column) if column is not None and value is not None else None


def best_open_mpi(results, name):
    """The best of Open MPI's columns; None: it has no number."""
    values = [cell.value for column, cell in results.of(name).items() if column.startswith("Open MPI") and cell.value is not None]
    return min(values, default=None)


def verdict(case, results):
    """Returns (verdict, why) of the case's limits. The verdict is open if there is no number to judge and nothing failed."""
    cell, notes = results.cell(case.name, "sumac"), results.notes.get(case.name, {})
    value = cell.value
    if cell.failures:
        return V.FAIL, cell.failures[0]
    if value is None:
        return V.OPEN, notes.get("sumac", "void" if cell.void else "not run")
    if case.may_refuse and "refused" in notes:
        return V.PASS, f"refused: {notes['refused']}"
    if case.over_limit is not None and case.limit is None:
        return V.OPEN, "its limit is not known"
    ratio = over_bare(case, results)
    if ratio is None and (case.over_bare is not None or case.bare_share is not None):
        return V.OPEN, "bare has no number to compare with"
    peer = best_open_mpi(results, case.name)
    if peer is None and (case.over_peer is not None or case.over_peer_ms is not None):
        return V.OPEN, "Open MPI has no number to compare with"
    judged = V.Judgement()
    if case.over_peer is not None:
        judged.hold(value <= case.over_peer * peer, f"{value / peer:.2f} x Open MPI, allowed {case.over_peer:.2f}")
    if case.over_peer_ms is not None:
        judged.hold(value <= peer + case.over_peer_ms, f"{value - peer:.1f} ms more than Open MPI, allowed {case.over_peer_ms:.1f}")
    if case.share_min is not None:
        judged.hold(value >= case.share_min, f"{value:.3f} of {case.share_min}")
    if case.bare_share is not None:
        judged.hold(ratio >= case.bare_share, f"{100 * ratio:.0f} % of bare, wanted {100 * case.bare_share:.0f} %")
    if case.over_limit is not None:
        judged.hold(value / case.limit <= case.over_limit, f"{value / case.limit:.2f} x limit, allowed {case.over_limit:.2f}")
    if case.over_bare is not None:
        judged.hold(ratio <= case.over_bare, f"{ratio:.2f} x bare, allowed {case.over_bare:.2f}")
    return judged.result()


def rows(cases, results, judges=True):
    """Returns the entries of the JSON file. Without `judges` none has a verdict."""
    out = []
    for case in cases:
        cells, bare = results.of(case.name), results.bare(case.name)
        pairs = results.pairs.get((case.name, "bare"))
        out.append(T.entry(
            case.name, case.unit, results.value(case.name, "sumac"), {c: cell.value for c, cell in cells.items() if c.startswith(PEERS)},
            case.limit, results.value(case.name, bare), case.wire_limit,
            bare_wait=bare, over_bare=over_bare(case, results), over_bare_interval=list(pairs.interval or ()) if pairs else None,
            sumac_lib=results.value(case.name, "sumac-lib"), best_tuned=best_tuned(results, case.name),
            **(V.keys(*verdict(case, results), case.must) if judges else {}),
            spread={c: list(cell.spread) for c, cell in cells.items() if cell.spread},
            runs={c: cell.values for c, cell in cells.items()},
            void={c: cell.void for c, cell in cells.items() if cell.void},
            failures={c: cell.failures for c, cell in cells.items() if cell.failures},
            notes=results.notes.get(case.name, {}), cacheline_ns=results.value(case.name, "cacheline_ns")))
    return out


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


def tuned_text(results, case):
    """Returns the time of the best tuned algorithm, and its name."""
    best = best_tuned(results, case.name)
    return cell_text(results, case, best) + (f" [{best.removeprefix('Open MPI ')}]" if best else "")


def ratio_text(value, base):
    return f"{value / base:.2f}" if value is not None and base else "-"


HEAD = ("case", "limit", "bare", OMPI_DEFAULT, "best tuned", "sumac-lib", "Sumac", "/ limit", "/ bare", "must hold", "")


def table(cases, results):
    """Returns the lines of the table in Markdown."""
    body = []
    for case in cases:
        bare, value, is_time = results.bare(case.name), results.value(case.name, "sumac"), case.unit == "ms"
        body.append((case.name, number(case.limit, case.unit), cell_text(results, case, bare),
                     cell_text(results, case, OMPI_DEFAULT), tuned_text(results, case), cell_text(results, case, "sumac-lib"),
                     cell_text(results, case, "sumac"), ratio_text(value, case.limit) if is_time else "-",
                     ratio_text(value, results.value(case.name, bare)) if is_time and bare else "-", case.must,
                     verdict(case, results)[0]))
    return T.markdown(HEAD, body)
