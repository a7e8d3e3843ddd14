"""The build backend of the repository's root: that of bindings/python, which reads its pyproject.toml there.

pip shows nothing of what a backend writes, and this one compiles for minutes. So how far it is goes straight to the terminal, if there is one.
"""
import contextlib
import os
import pathlib
import re
import threading

os.chdir(pathlib.Path(__file__).resolve().parents[1])

import scikit_build_core.build as _build  # noqa: E402
from scikit_build_core.build import *  # noqa: E402,F403

_DONE = re.compile(rb"\[(\d+)/(\d+)\]")  # Ninja's count of the files compiled, and of all.


def _watch(reads: int, log: int, terminal: int) -> None:
    """Passes the lines of the build on to pip's log, and tells the terminal of each tenth."""
    told = -1
    with os.fdopen(reads, "rb") as lines:
        for line in lines:
            os.write(log, line)
            found = _DONE.match(line)
            tenth = 10 * int(found[1]) // int(found[2]) if found else told
            if found and tenth > told:
                told = tenth
                os.write(terminal, b"\n  sumac_collectives: %s of %s steps of the build are done" % (found[1], found[2]))


@contextlib.contextmanager
def _progress():
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        yield
        return
    reads, writes = os.pipe()
    log = os.dup(1)
    os.dup2(writes, 1)
    os.close(writes)
    watcher = threading.Thread(target=_watch, args=(reads, log, terminal))
    watcher.start()
    try:
        yield
    finally:
        os.dup2(log, 1)  # Ends the watcher: nobody else has the pipe.
        watcher.join()
        os.close(log)
        os.close(terminal)


def build_wheel(*arguments, **named):
    """As scikit-build-core's, with the progress."""
    with _progress():
        return _build.build_wheel(*arguments, **named)


def build_editable(*arguments, **named):
    """The same."""
    with _progress():
        return _build.build_editable(*arguments, **named)
