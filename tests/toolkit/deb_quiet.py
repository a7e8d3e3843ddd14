"""What an installed component costs a program that never asked for Sumac: no byte on stderr, and the time of MPI_Init with the component
and without, in turns."""

import math
import os
import re
import statistics

from work import FEW_CORES

CASE = "deb-quiet"
PAIRS = 200


def median_interval(values):
    """The 95 % interval of the median, by the order of the values alone: it assumes nothing of their distribution."""
    ordered, n = sorted(values), len(values)
    reach = int(math.ceil(0.98 * math.sqrt(n)))
    return ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]


def check(rows, work):
    work.packages("now")
    program = work.program("until")
    ranks = min(4, os.cpu_count() or 1)
    with work.root() as root:
        work.installed(root)
        done = root.run(f"mpirun -n 4 {program} 2>&1 >/dev/null | wc -c", user="someone", env=FEW_CORES)
        rows.add(CASE, "bytes on stderr", int(done.stdout), 0)
        # In one shell, so that both sides have the same caches; the link is what makes Open MPI find the component.
        script = f"""
        link=$(dpkg -L sumac-openmpi | grep "openmpi/lib/openmpi.*/mca_coll_hcoll.so")
        one() {{
          if test $1 = with; then mv /tmp/aside $link; fi
          echo "$1 $(mpirun --allow-run-as-root -n {ranks} {program})"
          if test $1 = with; then mv $link /tmp/aside; fi
        }}
        mv $link /tmp/aside
        one with; one without
        for i in $(seq {PAIRS // 2}); do one with; one without; one without; one with; done
        """
        done = root.run(script, seconds=1800)
    times = {side: [float(ms) for ms in re.findall(rf"^{side} 0 of .*MPI_Init ([\d.]+) ms", done.stdout, re.MULTILINE)][1:]
             for side in ("with", "without")}
    if not len(times["with"]) == len(times["without"]) == PAIRS:
        raise RuntimeError(f"{len(times['with'])} and {len(times['without'])} of {PAIRS} runs: {done.stdout[-500:]}{done.stderr[-500:]}")
    ratios = [a / b for a, b in zip(times["with"], times["without"])]
    low, high = median_interval(ratios)
    print(f"  MPI_Init of {ranks} ranks: without {statistics.median(times['without']):.1f} ms, with {statistics.median(times['with']):.1f} ms; "
          f"median ratio {statistics.median(ratios):.4f} ({low:.4f} to {high:.4f})", flush=True)
    rows.add(CASE, "x, upper end of the interval of MPI_Init with the component to without", round(high, 4), 1.02)
