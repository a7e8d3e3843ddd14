"""The demo's times as bars (build/demo.svg): one panel a case, all bars of a panel on one scale from zero."""

from core.bars import BARE, LIMIT, PEER, SUMAC, Bars

from .report import number


def bars(entry):
    """(label, value, colour) of one case, the fabric's own limit first, Sumac last."""
    peers = entry["peers"]
    best = entry.get("best_tuned")
    rows = [("the wire's limit", entry["limit"], LIMIT), ("bare tree, no MPI", entry["bare"], BARE),
            ("Open MPI default", peers.get("Open MPI default"), PEER)]
    if best:
        rows.append((best.replace("Open MPI ", "Open MPI tuned, "), peers.get(best), PEER))
    rows += [("Sumac, C client", entry.get("sumac_lib"), SUMAC), ("Open MPI with Sumac", entry["sumac"], SUMAC)]
    return [row for row in rows if row[1] is not None]


def draw(entries):
    """SVG text; empty where no case has a time of Sumac's."""
    picture = Bars()
    for entry in entries:
        if entry["unit"] == "ms" and entry["sumac"] is not None:
            picture.title(entry["case"])
            picture.panel([(label, value, f"{number(value)} ms", colour) for label, value, colour in bars(entry)])
    return picture.svg()
