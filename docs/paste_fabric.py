#!/usr/bin/env python3
"""Pastes the table of `make bench-fabric` (build/fabric.txt) into docs/performance.md.

    make bench-fabric && python3 docs/paste_fabric.py build/fabric.txt
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: docs/paste_fabric.py build/fabric.txt")
    text = pathlib.Path(sys.argv[1]).read_text().strip()
    target = ROOT / "docs" / "performance.md"
    pasted, count = re.subn(r"(<!-- fabric:begin -->\n).*?(<!-- fabric:end -->)", lambda found: f"{found[1]}{text}\n{found[2]}",
                            target.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{target}: no <!-- fabric:begin --> ... <!-- fabric:end -->")
    target.write_text(pasted)


if __name__ == "__main__":
    main()
