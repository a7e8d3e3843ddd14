"""Jobs of tests/mpi/goes_on.c in a lab with SUMAC_RECOVERY=1."""

import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))
from harness import case  # noqa: E402  pylint: disable=wrong-import-position

ON = {"SUMAC_RECOVERY": "1", "HCOLL_ENABLE_SHARP": "1", "SUMAC_TEAM_AFTER": "0", "OMPI_MCA_mpi_yield_when_idle": "1"}
ENDS_WITHIN = 90


class Job:
    """A running job, and what it has printed so far."""

    def __init__(self, process, folder, ranks):
        self.process, self.folder, self.ranks = process, folder, ranks

    def text(self):
        return (self.folder / "out").read_text(encoding="utf-8", errors="replace")

    def begins(self):
        """Returns whether the loop begins in time."""
        until = time.monotonic() + ENDS_WITHIN
        while "goes_on: begun" not in self.text():
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def operations(self):
        """The number of operations of a rank, all right; 0 if the job does not say so."""
        found = re.search(r"goes_on: (\d+) operations, all right", self.text())
        return int(found[1]) if found else 0


@contextlib.contextmanager
def job_of(lab, ranks, seconds):
    exported = [word for name in ON for word in ("-x", name)]
    with tempfile.TemporaryDirectory(dir=case.PROGRAMS, prefix="faults-") as folder:  # The lab's hosts see the programs' folder.
        words = ["-n", ranks, "--map-by", "ppr:1:node", *case.TCP, *case.YIELD, *case.component_flags(), *exported, case.PROGRAMS / "goes_on", seconds, folder]
        with (pathlib.Path(folder) / "out").open("w", encoding="utf-8") as file:
            process = case.processes.start(lab.command("mpirun", *words), env={**os.environ, **ON}, stdout=file, stderr=case.processes.STDOUT)
        try:
            yield Job(process, pathlib.Path(folder), ranks)
        finally:
            case.processes.end(process, grace=30)
