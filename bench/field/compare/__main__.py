"""`sumac bench --compare` starts this: runs of one benchmark with Sumac and without in turns, a table of both medians, their ratio and its
interval, and on request the numbers as JSON and a plot. It is no command of its own; `sumac bench --help` has the options."""

import argparse
import errno
import functools
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from core import clock  # noqa: E402  pylint: disable=wrong-import-position

import files  # noqa: E402  pylint: disable=wrong-import-position
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
    """Returns the module that draws, or None. It says that it cannot draw before minutes of measuring."""
    if not args.plot:
        return None
    try:
        import picture  # pylint: disable=import-outside-toplevel
        return picture
    except ImportError:
        become_system_python()
        if args.plot_is_asked_for:
            raise running.Failed(NO_MATPLOTLIB, 2)  # pylint: disable=raise-missing-from
        running.say(f"sumac bench: no plot: {NO_MATPLOTLIB}")
        return None


def fill_closed_streams():
    """Closed standard streams would give their numbers to the next files, which then get what is printed there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest free number: this one.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # pylint: disable=consider-using-with


def plot_name(args):
    """Returns the files' name without .png and .svg. That of a folder would hide them, or put them beside it."""
    name = re.sub(r"\.(png|svg)$", "", args.plot)
    if args.plot_is_asked_for and (os.path.basename(name) in ("", ".", "..") or os.path.isdir(name)):
        raise running.Failed(f"--plot {args.plot}: it is a folder or has no name: give the plot's name, as in --plot {os.path.join(args.plot, 'allreduce')}", 2)
    return name


def check_outputs(args):
    """Before anything is measured. A plot that nobody asked for is left out where it cannot be written."""
    args.plot = plot_name(args)
    if args.json and (why := files.obstacle(args.json)):
        raise running.Failed(f"--json {args.json}: {why}", 2)
    for kind in ("png", "svg"):
        if not args.plot or not (why := files.obstacle(f"{args.plot}.{kind}")):
            continue
        if args.plot_is_asked_for:
            raise running.Failed(f"--plot {args.plot}.{kind}: {why}", 2)
        running.say(f"sumac bench: no plot: {args.plot}.{kind}: {why}, with --plot")
        args.plot = ""
    if (why := broken_stdout()) and not args.json and not args.plot_is_asked_for:
        raise running.Failed(f"standard output: {why}: the table would be lost: send it elsewhere, or name a file by --json", 2)


def broken_stdout():
    """Returns the reason why nothing can be printed, or None. Whether a pipe has a reader shows only later."""
    try:
        if sys.stdout is None:
            return os.strerror(errno.EBADF)
        if stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode):
            os.write(sys.stdout.fileno(), b"")
    except OSError as why:
        return why.strerror
    return None


def print_table(comparison):
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        print("\n".join(comparison.lines()), flush=True)
    except OSError:
        running.give_up(sys.stdout)
        raise


def write_plot(path, data):
    files.write(path, data)
    running.say(f"sumac bench: {path}")


def outputs(args, comparison, picture):
    """Yields (name, function that writes it)."""
    yield "the table", functools.partial(print_table, comparison)
    if args.json:
        text = json.dumps(comparison.as_json(args.sides), indent=1) + "\n"
        yield f"--json {args.json}", functools.partial(files.write, args.json, text.encode())
    for path, data in picture.draw(comparison, args.plot) if picture else ():
        yield path, functools.partial(write_plot, path, data)


def deliver(args, comparison, picture):
    """Writes all results; one that fails does not lose the others. Returns the exit status."""
    status = 1 if comparison.warnings else 0
    for name, write in outputs(args, comparison, picture):
        try:
            write()
        except OSError as why:
            status = running.complaint(f"{name} could not be written: {why.strerror}: make room, or send it elsewhere", 1)
    return status


def compare(args):
    check_outputs(args)
    picture = picture_module(args)
    measured = running.measure(args.sides, args.pairs)
    return deliver(args, results.Comparison(f"{args.benchmark}, {args.where}", args.pairs, measured), picture)


def main():
    fill_closed_streams()
    args = arguments()
    clock.end_as_by_ctrl_c()
    try:
        return compare(args)
    except running.Failed as why:
        return running.complaint(str(why), why.status)
    except KeyboardInterrupt as why:
        # SIGTERM and SIGHUP leave their number in it.
        return running.complaint("interrupted: no result", 128 + (why.args[0] if why.args else signal.SIGINT))


sys.exit(main())
