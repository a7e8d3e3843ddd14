"""The demo's times as bars (build/demo.svg): one panel a case, all bars of a panel on one scale from zero."""

from xml.sax.saxutils import escape

from .report import number

WIDTH, LABEL, BAR, GAP, PANEL = 860, 190, 18, 6, 54
COLOURS = {"limit": "#8a8f98", "bare": "#b9bec6", "peer": "#e0a458", "sumac": "#2b7a2b"}


def bars(entry):
    """(label, value, colour) of one case, the fabric's own limit first, Sumac last."""
    peers = entry["peers"]
    best = entry.get("best_tuned")
    rows = [("the wire's limit", entry["limit"], "limit"), ("bare tree, no MPI", entry["bare"], "bare"),
            ("Open MPI default", peers.get("Open MPI default"), "peer")]
    if best:
        rows.append((best.replace("Open MPI ", "Open MPI tuned, "), peers.get(best), "peer"))
    rows += [("Sumac, C client", entry.get("sumac_lib"), "sumac"), ("Open MPI with Sumac", entry["sumac"], "sumac")]
    return [row for row in rows if row[1] is not None]


def panel(entry, top):
    rows = bars(entry)
    longest = max(value for _, value, _ in rows)
    scale = (WIDTH - LABEL - 90) / longest
    out = [f'<text x="10" y="{top + 22}" class="title">{escape(entry["case"])}</text>']
    y = top + 34
    for label, value, colour in rows:
        length = value * scale
        out.append(f'<text x="{LABEL - 8}" y="{y + BAR - 5}" class="label" text-anchor="end">{escape(label)}</text>')
        out.append(f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{COLOURS[colour]}"/>')
        out.append(f'<text x="{LABEL + length + 6:.1f}" y="{y + BAR - 5}" class="value">{number(value)} ms</text>')
        y += BAR + GAP
    return out, PANEL + len(rows) * (BAR + GAP)


def draw(entries):
    """SVG text; empty where no case has a time of Sumac's."""
    body, top = [], 0
    for entry in entries:
        if entry["unit"] != "ms" or entry["sumac"] is None:
            continue
        lines, height = panel(entry, top)
        body += lines
        top += height
    if not body:
        return ""
    style = "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}.title{font-size:14px;font-weight:bold}.label{fill:#555}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 8}" viewBox="0 0 {WIDTH} {top + 8}">\n'
            f'<style>{style}</style>\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")
