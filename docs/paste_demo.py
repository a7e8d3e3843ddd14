#!/usr/bin/env python3
"""Pastes what the demo printed (build/demo.txt) into README.md between its markers, and its picture (build/demo.svg) into docs/.

    make demo && python3 docs/paste_demo.py build/demo.txt
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: docs/paste_demo.py build/demo.txt")
    table = pathlib.Path(sys.argv[1])
    readme = ROOT / "README.md"
    text, count = re.subn(r"(<!-- demo:begin -->\n).*?(<!-- demo:end -->)",
                          lambda found: f"{found[1]}{table.read_text()}\n![times of the demo](docs/demo.svg)\n{found[2]}",
                          readme.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{readme}: no <!-- demo:begin --> ... <!-- demo:end -->")
    readme.write_text(text)
    shutil.copyfile(table.with_suffix(".svg"), ROOT / "docs" / "demo.svg")


if __name__ == "__main__":
    main()
