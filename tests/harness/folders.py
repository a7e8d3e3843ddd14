"""A temporary folder that is gone when its process ends, also when a test fails."""

import atexit
import os
import pathlib
import re
import shutil
import tempfile
import time

DEV_SHM = pathlib.Path("/dev/shm")


def mapped_shm():
    """Returns the names below /dev/shm that some process has mapped: they belong to a job that still runs, ours or one beside us."""
    found = set()
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        try:
            found.update(re.findall(r"/dev/shm/(\S+)", maps.read_bytes().decode(errors="replace")))
        except OSError:
            pass  # the process ended while we looked
    return found


def left_in_dev_shm(before, seconds=5):
    """Returns the new names below /dev/shm with `sumac` in them, once all of them belong to processes that still run, or after `seconds`:
    a test beside us may just be making its own."""
    end = time.monotonic() + seconds
    while True:
        new = {name for name in os.listdir(DEV_SHM) if "sumac" in name} - set(before)
        left = new - mapped_shm() if new else new
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


class Folder:
    """`with Folder("sumac-x-") as path:` or `Folder("sumac-x-").path`. `parent`: where it lies, the system's temporary directory by default.
    Only the process that made the folder removes it, so that a fork of it, or a test that is ended in one, does not."""

    def __init__(self, prefix, parent=None):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self.owner = os.getpid()
        atexit.register(self.remove)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        if os.getpid() == self.owner:
            shutil.rmtree(self.path, ignore_errors=True)
            atexit.unregister(self.remove)
