"""The programs among lab hosts as bars (build/apps.svg): how many times as fast each is with Sumac, the fastest first."""

from core.bars import SUMAC, Bars

PLACE = "16h-500us"


def draw(entries):
    """Returns the text of the SVG; empty if no program ran there."""
    rows = sorted((one for one in entries if one["place"] == PLACE and one["ratio"] is not None), key=lambda one: -one["ratio"])
    if not rows:
        return ""
    bars = Bars(label=170, bar=20, gap=8)
    bars.title("Times as fast as without Sumac: 16 hosts, links of 500 us (the line is Open MPI)")
    bars.panel([(one["program"], one["ratio"], f"{one['ratio']:.2f}", SUMAC, "" if one["share"] is None else f"{100 * one['share']:.0f} % collectives")
                for one in rows], room=150, longest=max(1.0, *(one["ratio"] for one in rows)), line=1.0)
    return bars.svg()
