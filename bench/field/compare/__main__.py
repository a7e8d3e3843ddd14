"""`sumac bench --compare` starts this: runs of one benchmark with Sumac and without in turns, a table of both medians, their ratio and its
interval, and on request the numbers as JSON and a plot. It is no command of its own; `sumac bench --help` has the options."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from core import clock  # noqa: E402  pylint: disable=wrong-import-position

import results  # noqa: E402  pylint: disable=wrong-import-position
import running  # noqa: E402  pylint: disable=wrong-import-position

SYSTEM_PYTHON = "/usr/bin/python3"
NO_MATPLOTLIB = "python3 has no matplotlib: install it (Debian: apt install python3-matplotlib), or say --no-plot"


def arguments():
    parser = argparse.ArgumentParser(prog="sumac bench --compare", description=__doc__)
    parser.add_argument("--sides", required=True, type=json.loads, help='the commands: {"sumac": [...], "mpi": [...]}')
    parser.add_argument("--pairs", required=True, type=int)
    parser.add_argument("--benchmark", required=True, help="its words, for people")
    parser.add_argument("--where", default="this host")
    parser.add_argument("--json", default="")
    parser.add_argument("--plot", default="", help="the files' name, without .png and .svg")
    parser.add_argument("--plot-is-asked-for", action="store_true")
    return parser.parse_args()


def become_system_python():
    """Goes on in Debian's own python3 if that one has matplotlib: its packages are not for another python3 of the PATH."""
    if os.path.realpath(sys.executable) == os.path.realpath(SYSTEM_PYTHON) or not os.access(SYSTEM_PYTHON, os.X_OK):
        return
    if subprocess.run([SYSTEM_PYTHON, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])


def picture_module(args):
    """Returns the module that draws, or None. That it cannot draw is said before minutes of measuring."""
    if not args.plot:
        return None
    try:
        import picture  # pylint: disable=import-outside-toplevel
        return picture
    except ImportError:
        become_system_python()
        if args.plot_is_asked_for:
            sys.exit(running.complaint(NO_MATPLOTLIB, 2))
        print(f"sumac bench: no plot: {NO_MATPLOTLIB}", file=sys.stderr)
        return None


def check_writable(path):
    """A result of minutes must not be lost to a wrong path."""
    folder = pathlib.Path(path).resolve().parent
    if path and not folder.is_dir():
        sys.exit(running.complaint(f"{path}: there is no folder {folder}: make it, or name another", 2))


def main():
    args = arguments()
    check_writable(args.json)
    check_writable(args.plot)
    picture = picture_module(args)
    clock.end_as_by_ctrl_c()
    try:
        measured = running.measure(args.sides, args.pairs)
    except running.Failed as why:
        return running.complaint(str(why), why.status)
    except KeyboardInterrupt:
        return running.complaint("interrupted: no result", 130)
    title = f"{args.benchmark}, {args.where}"
    comparison = results.Comparison(title, args.pairs, measured)
    print("\n".join(comparison.lines()))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(comparison.as_json(args.sides), indent=1) + "\n", encoding="utf-8")
    if picture:
        for path in picture.draw(comparison, args.plot):
            print(f"sumac bench: {path}", file=sys.stderr)
    return 1 if comparison.warnings else 0


sys.exit(main())
