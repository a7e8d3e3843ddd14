"""Bars as SVG, without a library: panels of bars from zero, each with its label on the left and its value at its end."""

from xml.sax.saxutils import escape

LIMIT, BARE, PEER, SUMAC = "#8a8f98", "#b9bec6", "#e0a458", "#2b7a2b"
STYLE = "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}.title{font-size:14px;font-weight:bold}.label{fill:#555}.note{fill:#777}"


class Bars:
    def __init__(self, width=860, label=190, bar=18, gap=6):
        self.width, self.label, self.bar, self.gap = width, label, bar, gap
        self.body, self.top = [], 8

    def title(self, text):
        self.body.append(f'<text x="10" y="{self.top + 14}" class="title">{escape(text)}</text>')
        self.top += 26

    def panel(self, rows, room=90, longest=None, line=None):
        """Draws the rows, (label, value, text at its end, colour[, note behind the text]), on one scale: `longest` is a bar that leaves
        `room` at the right, the longest of the rows by default. `line`: a value that an upright line marks."""
        scale = (self.width - self.label - room) / (longest or max(row[1] for row in rows))
        above = self.top
        for label, value, text, colour, *note in rows:
            end, base = self.label + value * scale, self.top + self.bar - 5
            further = f' <tspan class="note">{escape(note[0])}</tspan>' if note else ""
            self.body.append(f'<text x="{self.label - 8}" y="{base}" class="label" text-anchor="end">{escape(label)}</text>')
            self.body.append(f'<rect x="{self.label}" y="{self.top}" width="{value * scale:.1f}" height="{self.bar}" fill="{colour}"/>')
            self.body.append(f'<text x="{end + 6:.1f}" y="{base}">{escape(text)}{further}</text>')
            self.top += self.bar + self.gap
        if line is not None:
            at = f"{self.label + line * scale:.1f}"
            self.body.append(f'<line x1="{at}" y1="{above - 6}" x2="{at}" y2="{self.top}" stroke="{PEER}" stroke-width="2"/>')
        self.top += 10

    def svg(self):
        """Returns the picture; empty where nothing was drawn."""
        if not self.body:
            return ""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.top}" viewBox="0 0 {self.width} {self.top}">\n'
                f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(self.body) + "\n</svg>\n")
