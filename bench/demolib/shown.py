"""The demo's table, for somebody who sees Sumac for the first time: times side by side, and what disturbed them. It judges nothing."""

from core.table import markdown, number

from .cases import OMPI_DEFAULT
from .report import best_tuned, cell_text, tuned_text

HEAD = ("case", "Open MPI", "Open MPI best tuned", "Sumac", "times faster", "the wire's limit")
MEANING = ("Each row is the time of one MPI call in milliseconds (16h: among 16 hosts; 5ms: the delay of each link; a median, and the least and "
           "the most): Sumac is so many times faster than Open MPI as it comes (in brackets: than the fastest of the Open MPI algorithms "
           "tried), and no program can be faster than the wire's limit, which the delay or the rate of the links alone takes.")


def faster(results, case):
    """'3.0 (2.0)': how many times the time of Sumac the default takes, and the best tuned algorithm."""
    ours, default = results.value(case.name, "sumac"), results.value(case.name, OMPI_DEFAULT)
    best = results.value(case.name, best_tuned(results, case.name))
    if not ours or default is None:
        return "-"
    return f"{default / ours:.1f}" + (f" ({best / ours:.1f})" if best is not None else "")


def table(cases, results):
    body = []
    for case in cases:
        body.append((case.name, cell_text(results, case, OMPI_DEFAULT), tuned_text(results, case), cell_text(results, case, "sumac"), faster(results, case),
                     number(case.limit, case.unit)))
    return markdown(HEAD, body)


def busy(cases, results):
    """A line for the fabrics that had company, and what follows from it; nothing where the machine was ours alone."""
    fabrics = {}
    for fabric in dict.fromkeys(case.fabric.name for case in cases):
        if words := results.busy.get(fabric):
            fabrics.setdefault(words, []).append(fabric)
    lines = [f"The machine was busy during {', '.join(names)}: {words}." for words, names in fabrics.items()]
    return lines + (["The numbers are worse than they could be: run it again when the machine is idle."] if lines else [])
