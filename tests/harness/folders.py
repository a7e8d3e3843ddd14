"""A temporary folder that is gone when its process ends, also when a test fails."""

import atexit
import os
import pathlib
import shutil
import tempfile


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
