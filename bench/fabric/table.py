"""The table of `make bench-fabric` and its notes."""

from core import before
from core.table import markdown, number
from demolib import report
from demolib.cases import MPICH, OMPI_DEFAULT
from demolib.report import cell_text, ratio_text, tuned_text

HEAD = ("case", "payload limit", "wire limit", "bare", OMPI_DEFAULT, "best tuned", MPICH, "sumac-lib", "Sumac", "/ limit", "/ bare",
        "must hold", "")


def over_bare_text(case, results):
    ratio, pairs = report.over_bare(case, results), results.pairs.get((case.name, "bare"))
    if ratio is None:
        return "-"
    spread = pairs.interval if pairs else None
    return f"{ratio:.2f}" + (f" ({spread[0]:.2f}..{spread[1]:.2f})" if spread else "")


def table(cases, results, compared=None):
    """Returns the lines of the table. `compared` has the entries if they compare this build with another one."""
    body, more = [], before.HEAD if compared else ()
    for at, case in enumerate(cases):
        body.append((case.name, number(case.limit, case.unit), number(case.wire_limit, case.unit),
                     cell_text(results, case, results.bare(case.name)), cell_text(results, case, OMPI_DEFAULT), tuned_text(results, case),
                     cell_text(results, case, MPICH), cell_text(results, case, "sumac-lib"), cell_text(results, case, "sumac"),
                     ratio_text(results.value(case.name, "sumac"), case.limit), over_bare_text(case, results), case.must,
                     report.verdict(case, results)[0], *(before.texts(compared[at]) if compared else ())))
    return markdown((*HEAD, *more), body)
