"""Formats numbers and tables, and writes the files of a bench."""

import json


def number(value, unit="ms"):
    if value is None:
        return "-"
    if unit in ("share", "ratio"):
        return f"{value:.3f}"
    if unit == "failures":
        return str(value)
    if unit in ("bytes", "1/s"):
        return f"{value / 1e6:.2f}M" if value >= 1e6 else f"{value / 1e3:.1f}k" if value >= 1e4 else f"{value:.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def interval_text(interval):
    return f"{interval[0]:.2f}..{interval[1]:.2f}" if interval else "-"


def markdown(head, body):
    """Returns the lines of a Markdown table; the columns are padded so that it can be read in a terminal too."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    return ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
            for row in [head, rule, *body]]


def entry(case, unit, sumac, peers, limit, bare, wire_limit=None, **more):
    """Returns the entry of a case in the JSON file. The keys of this signature are the interface; the rest is for readers."""
    rounded = {name: value if value is None else round(value, 4) for name, value in (("limit", limit), ("wire_limit", wire_limit))}
    return {"case": case, "unit": unit, "sumac": sumac, "peers": peers, **rounded, "bare": bare, **more}


def write(path, entries, lines, picture=""):
    """Writes the entries as JSON, and beside them the lines (.txt) and the picture (.svg)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    path.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    if picture:
        path.with_suffix(".svg").write_text(picture)
