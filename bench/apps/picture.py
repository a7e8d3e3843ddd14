"""The programs among lab hosts as bars (build/apps.svg): how many times as fast each is with Sumac, the fastest first."""

from xml.sax.saxutils import escape

WIDTH, LABEL, BAR, GAP, HEAD = 860, 170, 20, 8, 40
PLACE = "16h-500us"


def draw(entries):
    """Returns the text of the SVG; empty if no program ran there."""
    rows = sorted((one for one in entries if one["place"] == PLACE and one["ratio"] is not None), key=lambda one: -one["ratio"])
    if not rows:
        return ""
    scale = (WIDTH - LABEL - 150) / max(max(one["ratio"] for one in rows), 1.0)
    body, y = [], HEAD
    for one in rows:
        share = "" if one["share"] is None else f"{100 * one['share']:.0f} % collectives"
        body.append(f'<text x="{LABEL - 8}" y="{y + BAR - 5}" text-anchor="end">{escape(one["program"])}</text>')
        body.append(f'<rect x="{LABEL}" y="{y}" width="{one["ratio"] * scale:.1f}" height="{BAR}" fill="#2b7a2b"/>')
        body.append(f'<text x="{LABEL + one["ratio"] * scale + 6:.1f}" y="{y + BAR - 5}">{one["ratio"]:.2f} <tspan class="note">{share}</tspan></text>')
        y += BAR + GAP
    line = f'<line x1="{LABEL + scale:.1f}" y1="{HEAD - 6}" x2="{LABEL + scale:.1f}" y2="{y}" stroke="#e0a458" stroke-width="2"/>'
    style = "text{font-family:Helvetica,Arial,sans-serif;font-size:13px;fill:#222}.title{font-size:14px;font-weight:bold}.note{fill:#777;font-size:12px}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 8}" viewBox="0 0 {WIDTH} {y + 8}">\n<style>{style}</style>\n'
            '<rect width="100%" height="100%" fill="white"/>\n'
            '<text x="10" y="22" class="title">Times as fast as without Sumac: 16 hosts, links of 500 us (the line is Open MPI)</text>\n'
            + "\n".join(body) + f"\n{line}\n</svg>\n")
