"""`sumac bench --compare` starts this: runs of one benchmark with Sumac and without in turns, a table of both medians, their ratio and its
interval, and on request the numbers as JSON and a plot. It is no command of its own; `sumac bench --help` has the options."""

import argparse
import contextlib
import errno
import functools
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from core import clock  # noqa: E402  pylint: disable=wrong-import-position

import results  # noqa: E402  pylint: disable=wrong-import-position
import running  # noqa: E402  pylint: disable=wrong-import-position

SYSTEM_PYTHON = "/usr/bin/python3"
# A file that is there may take data where its folder takes no new name: a mount point, a folder of somebody else.
CLOSED_FOLDER = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
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


def is_renamed_over(path):
    """Devices, pipes and the files behind our own streams (/dev/stdout) are written where they are."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and not any(os.path.samestat(found, os.fstat(number)) for number in (1, 2))


def write_beside(path, data):
    """Writes a new file and gives it the name, so that a failure leaves the old file as it was. Without `data` it only tries."""
    beside = os.path.join(os.path.dirname(path), f".sumac-bench-{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            file.write(data if data is not None else bytes(4096))  # A full file system takes no block.
        if data is not None:
            if os.path.exists(path):
                shutil.copymode(path, beside)
            os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def write_file(path, data):
    if is_renamed_over(path):
        try:
            return write_beside(os.path.realpath(path), data)
        except OSError as why:
            if why.errno not in CLOSED_FOLDER or not os.path.exists(path):
                raise
    with open(path, "wb" if is_renamed_over(path) else "ab") as file:
        file.write(data)
    return None


def try_to_write(path):
    """Raises OSError if `path` cannot be written, and changes nothing: results of minutes must not be lost to a wrong path."""
    exists = True
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISFIFO(mode):  # The reader of a pipe would see its end.
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
            try:
                os.write(file, b"")  # /dev/full refuses even nothing.
            finally:
                os.close(file)
    except FileNotFoundError:
        exists = False
    if is_renamed_over(path):
        try:
            write_beside(os.path.realpath(path), None)
        except OSError as why:
            if why.errno not in CLOSED_FOLDER or not exists:
                raise


def plot_name(args):
    """Returns the files' name without .png and .svg. That of a folder would hide them, or put them beside it."""
    name = re.sub(r"\.(png|svg)$", "", args.plot)
    if args.plot_is_asked_for and (os.path.basename(name) in ("", ".", "..") or os.path.isdir(name)):
        raise running.Failed(f"--plot {args.plot}: it is a folder or has no name: give the plot's name, as in --plot {os.path.join(args.plot, 'allreduce')}", 2)
    return name


def obstacle(path):
    """Returns why `path` cannot be written and what to do, or None."""
    try:
        try_to_write(path)
    except FileNotFoundError:
        folder = pathlib.Path(path).resolve().parent
        return f"the folder {folder} takes no new file: name another" if folder.is_dir() else f"there is no folder {folder}: make it, or name another"
    except OSError as why:
        return f"{why.strerror}: name a file that you may write"
    return None


def check_outputs(args):
    """Before anything is measured. A plot that nobody asked for is left out where it cannot be written."""
    args.plot = plot_name(args)
    if args.json and (why := obstacle(args.json)):
        raise running.Failed(f"--json {args.json}: {why}", 2)
    for kind in ("png", "svg"):
        if not args.plot or not (why := obstacle(f"{args.plot}.{kind}")):
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
    write_file(path, data)
    running.say(f"sumac bench: {path}")


def outputs(args, comparison, picture):
    """Yields (name, function that writes it)."""
    yield "the table", functools.partial(print_table, comparison)
    if args.json:
        text = json.dumps(comparison.as_json(args.sides), indent=1) + "\n"
        yield f"--json {args.json}", functools.partial(write_file, args.json, text.encode())
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
