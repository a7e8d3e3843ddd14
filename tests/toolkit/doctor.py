"""doctor: the faults of a cluster that a lab can make are made, and `sumac doctor` names each with its remedy, and nothing on a healthy lab."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "doctor"))
import check as faults_check  # noqa: E402
import faults  # noqa: E402
import lab  # noqa: E402


def check(rows, work):
    made = lab.Lab(work.build)
    try:
        result = faults_check.run(made, faults.FAULTS)
    finally:
        made.close()
    print(f"  {result.made} of {len(faults.FAULTS)} faults made")
    # A fault that this machine can't make is printed above with its reason, and counts as neither.
    rows.failures("doctor-missed", f"of {result.made} faults", result.missed)
    rows.failures("doctor-false", "findings that are not true", result.false)
