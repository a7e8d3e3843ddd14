#!/usr/bin/env python3
"""Pastes the table of `make bench-crossover` (build/crossover.txt) into docs/crossover.md.

    make bench-crossover && python3 docs/paste_crossover.py build/crossover.txt
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: docs/paste_crossover.py build/crossover.txt")
    head, _, notes = pathlib.Path(sys.argv[1]).read_text().strip().partition("\n\n")
    lines = [" | ".join(cell.strip() for cell in line.strip("| ").split("|")) for line in head.splitlines()]
    lines[1] = " | ".join("-" for _ in lines[0].split("|"))
    text = "\n".join(f"| {line} |" for line in lines) + "\n\n" + notes
    target = ROOT / "docs" / "crossover.md"
    pasted, count = re.subn(r"(<!-- measured:begin -->\n).*?(<!-- measured:end -->)", lambda found: f"{found[1]}{text}\n{found[2]}",
                            target.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{target}: no <!-- measured:begin --> ... <!-- measured:end -->")
    target.write_text(pasted)


if __name__ == "__main__":
    main()
