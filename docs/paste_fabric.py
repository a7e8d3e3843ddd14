#!/usr/bin/env python3
"""Pastes the table of `make bench-fabric` (build/fabric.txt) into docs/performance.md. Several files, of runs with some of the cases
each, become one table, under the notes of the last.

    make bench-fabric && python3 docs/paste_fabric.py build/fabric.txt
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: docs/paste_fabric.py build/fabric.txt ...")
    head, rows, notes = [], [], ""
    for name in sys.argv[1:]:
        table, _, notes = pathlib.Path(name).read_text().strip().partition("\n\n")
        lines = [" | ".join(cell.strip() for cell in line.strip("| ").split("|")) for line in table.splitlines()]
        head, rows = [lines[0], " | ".join("-" for _ in lines[0].split("|"))], rows + lines[2:]
    text = "\n".join(f"| {line} |" for line in head + rows) + "\n\n" + notes
    target = ROOT / "docs" / "performance.md"
    pasted, count = re.subn(r"(<!-- fabric:begin -->\n).*?(<!-- fabric:end -->)", lambda found: f"{found[1]}{text}\n{found[2]}",
                            target.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{target}: no <!-- fabric:begin --> ... <!-- fabric:end -->")
    target.write_text(pasted)


if __name__ == "__main__":
    main()
