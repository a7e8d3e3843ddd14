#!/usr/bin/env python3
"""Pastes a table of `make bench-host` (build/host.json) into docs/performance.md, between the markers of a machine's cores.

    make bench-host && python3 docs/paste_host.py build/host.json [cores, 2 if not said]
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from host import report  # noqa: E402


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: docs/paste_host.py build/host.json [CORES]")
    source, cores = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else "2"
    lines = report.table(json.loads(source.read_text()))
    words = source.with_suffix(".txt").read_text().split("\n\n", 1)
    if len(words) == 2:
        lines += ["", *[f"{line}  " for line in words[1].strip().splitlines()]]
    target = ROOT / "docs" / "performance.md"
    text, count = re.subn(rf"(<!-- host-{cores}:begin -->\n).*?(<!-- host-{cores}:end -->)",
                          lambda found: found[1] + "\n".join(lines) + "\n" + found[2], target.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{target}: no <!-- host-{cores}:begin --> ... <!-- host-{cores}:end -->")
    target.write_text(text)


if __name__ == "__main__":
    main()
