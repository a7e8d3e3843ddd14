"""What each rank of a job with SUMAC_RECOVERY=1 counts in its page (src/recorder/page.hpp), as `sumac explain` shows it: operations that
ended on a tree, and among the members."""

import contextlib
import os
import pathlib
import struct
import time

MAGIC = 0x53554D4143524331
HEADER = struct.Struct("=QiiiIQqQQ")  # magic, pid, world rank, world size, unlisted, job, since, on a tree, among the members
LOOK_S = 0.01


def page_of(process):
    """Returns an open descriptor of the page, or None."""
    for link in (process / "fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(link).startswith("/memfd:sumac-recorder"):
                page = os.open(link, os.O_RDONLY)
                if HEADER.unpack(os.pread(page, HEADER.size, 0))[0] == MAGIC:
                    return page
                os.close(page)
    return None


class Ways:
    """The pages of a job's ranks on this machine: their command line has the job's folder."""

    def __init__(self, job):
        self.pages = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(job.folder).encode() in (process / "cmdline").read_bytes() and (page := page_of(process)) is not None:
                    self.pages.append(page)
        assert len(self.pages) == job.ranks, f"{len(self.pages)} of {job.ranks} pages"

    def close(self):
        for page in self.pages:
            os.close(page)

    def read(self):
        """[(operations on a tree, among the members)], an entry for each rank."""
        return [HEADER.unpack(os.pread(page, HEADER.size, 0))[-2:] for page in self.pages]

    def until(self, is_so, until, job):
        """Looks until each rank's (on a tree, among the members) is so. Returns the time in ns, or None: it never is."""
        waits = dict(enumerate(self.pages))
        while waits:
            for rank, page in list(waits.items()):
                if is_so(rank, *HEADER.unpack(os.pread(page, HEADER.size, 0))[-2:]):
                    del waits[rank]
            if waits and (time.monotonic() > until or job.process.poll() is not None):
                return None
            if waits:
                time.sleep(LOOK_S)
        return time.monotonic_ns()

    def left(self, since, until, job):
        """Every rank has had an operation among the members."""
        return self.until(lambda rank, _, among: among > since[rank][1], until, job)

    def grow(self, job):
        """Returns whether every rank goes on ending operations on a tree."""
        return self.returned(time.monotonic() + 5, job) is not None

    def returned(self, until, job):
        """Every rank has an operation on a tree again. Call it when none goes there."""
        since = self.read()
        return self.until(lambda rank, on_tree, _: on_tree > since[rank][0], until, job)
