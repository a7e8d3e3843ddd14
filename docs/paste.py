#!/usr/bin/env python3
"""Pastes what a benchmark wrote between its markers in the documentation.

    make demo            && python3 docs/paste.py demo build/demo.txt             README.md, and the picture beside it
    make bench-host      && python3 docs/paste.py host build/host.json            docs/results/host.md; --machine 16 for another one's table
    make bench-fabric    && python3 docs/paste.py fabric build/fabric.txt         docs/results/fabric.md; runs of some cases each make one table
    make bench-mpi       && python3 docs/paste.py mpi build/mpi.json              docs/results/mpi.md; the ratios of what every MPI has
    make bench-torch     && python3 docs/paste.py torch build/torch.txt           docs/results/torch.md
    make bench-apps      && python3 docs/paste.py apps build/apps.txt             docs/results/apps.md, and the picture beside it
    make bench-crossover && python3 docs/paste.py crossover build/crossover.txt   docs/results/crossover.md
"""

import argparse
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
sys.path.insert(0, str(ROOT / "bench"))
from host import report  # noqa: E402
from mpi import report as mpi_report  # noqa: E402


def put(target, marker, text):
    """Replaces what stands between `<!-- marker:begin -->` and `<!-- marker:end -->`."""
    pasted, count = re.subn(rf"(<!-- {marker}:begin -->\n).*?(<!-- {marker}:end -->)", lambda found: f"{found[1]}{text}\n{found[2]}",
                            target.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{target}: no <!-- {marker}:begin --> ... <!-- {marker}:end -->")
    target.write_text(pasted)


def markdown(files):
    """The tables of `files`, which have the same columns, as one; then the notes of the last."""
    head, rows, notes = [], [], ""
    for file in files:
        table, _, notes = file.read_text().strip().partition("\n\n")
        lines = [" | ".join(cell.strip() for cell in line.strip("| ").split("|")) for line in table.splitlines()]
        head, rows = [lines[0], " | ".join("-" for _ in lines[0].split("|"))], rows + lines[2:]
    return "\n".join(f"| {line} |" for line in head + rows) + "\n\n" + notes


def demo(arguments):
    put(ROOT / "README.md", "demo", f"{arguments.file.read_text()}\n![times of the demo](docs/demo.svg)")
    shutil.copyfile(arguments.file.with_suffix(".svg"), ROOT / "docs" / "demo.svg")


def host(arguments):
    lines = report.table(json.loads(arguments.file.read_text()))
    words = arguments.file.with_suffix(".txt").read_text().split("\n\n", 1)
    if len(words) == 2:
        lines += ["", *[f"{line}  " for line in words[1].strip().splitlines()]]
    put(RESULTS / "host.md", f"host-{arguments.machine}", "\n".join(lines))


def fabric(arguments):
    put(RESULTS / "fabric.md", "fabric", markdown(arguments.files))


def mpi(arguments):
    put(RESULTS / "mpi.md", "mpi", "\n".join(mpi_report.by_mpi(json.loads(arguments.file.read_text()))))


def torch(arguments):
    put(RESULTS / "torch.md", "torch", arguments.file.read_text().strip())


def apps(arguments):
    put(RESULTS / "apps.md", "apps", f"{arguments.file.read_text().strip()}\n\n![times as fast with Sumac](../apps.svg)")
    shutil.copyfile(arguments.file.with_suffix(".svg"), ROOT / "docs" / "apps.svg")


def crossover(arguments):
    put(RESULTS / "crossover.md", "measured", markdown([arguments.file]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = parser.add_subparsers(metavar="TABLE", required=True)
    for paste in (demo, host, fabric, mpi, torch, apps, crossover):
        table = tables.add_parser(paste.__name__)
        table.set_defaults(paste=paste)
        if paste is fabric:
            table.add_argument("files", type=pathlib.Path, nargs="+")
        else:
            table.add_argument("file", type=pathlib.Path)
        if paste is host:
            table.add_argument("--machine", default="2", help="whose table in docs/results/host.md: 2 (cores; the default), 2-xeon, 16")
    arguments = parser.parse_args()
    arguments.paste(arguments)


if __name__ == "__main__":
    main()
