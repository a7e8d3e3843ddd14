#!/usr/bin/env python3
"""`make guard` runs every attack of this folder in its long form and merges the rows; status 1 if one is violated or a program failed."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position


def is_attack(path):
    """Attacks call common.main(); the other files are their helpers."""
    return path.name != "common.py" and re.search(r"^ *common\.main\(attack", path.read_text(encoding="utf-8"), re.MULTILINE)


def main():
    parser = results.parser_of(__doc__, "guard")
    parser.add_argument("--before", default="", help="build folder of an older tree, for programs that compare with one (handshake_cost)")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    sys.argv = [sys.argv[0], "--build", args.build]
    before = ["--before", args.before] if args.before else []
    import common  # pylint: disable=import-outside-toplevel

    results.end_in_order()
    rows = results.Rows()
    programs = sorted(path for path in HERE.glob("*.py") if is_attack(path) and args.case in path.stem)
    if not programs:
        sys.exit(f"guard: no program in {HERE} has {args.case!r} in its name")
    try:
        results.merge(rows, programs, ["--build", args.build, "--long", *before], args.build)
    finally:
        common.ground.sweep()
    results.report(rows, args.out)


main()
