"""The MPI component on this host, for cells whose time is compared with its own."""

import json
import os
import subprocess

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def allreduce_us(build, cell):
    """The median of an allreduce of as many bytes, ranks and iterations by Open MPI with the component. Raises RuntimeError if it failed."""
    case = f"allreduce:{cell.bytes}:{cell.iterations}:{cell.warmup}"
    done = subprocess.run([build / "bin" / "sumac", "run", "--local", "mpirun", "-n", str(cell.ranks), build / "bin" / "collbench", "--case", case],
                          capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **AS_ROOT})
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"program":"collbench')]
    if done.returncode != 0 or len(lines) != 1 or lines[0]["errors"]:
        raise RuntimeError(f"the MPI component: {(done.stderr or done.stdout).strip()[-300:]}")
    return lines[0]["median"] * 1e3
