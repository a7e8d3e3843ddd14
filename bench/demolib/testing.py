"""What the tests of programs that bring up a lab begin with."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

SKIPPED = 77
FABRIC = Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"


def lab_comes_up(build):
    """Why not, in one line; None if it does."""
    sumac, name = build / "bin" / "sumac", ["--name", f"can-it-{os.getpid()}"]
    up = subprocess.run([sumac, "lab", "up", "--bare", *name, FABRIC], capture_output=True, text=True, check=False, timeout=60)
    subprocess.run([sumac, "lab", "down", *name], capture_output=True, check=False, timeout=60)
    return None if up.returncode == 0 else up.stderr.strip()


def main(build):
    """Runs the tests of the caller's file; where no lab can be, they are skipped, but for CI."""
    trouble = lab_comes_up(build)
    if trouble and os.environ.get("CI") != "true":
        print(f"skipped, no lab here: {trouble}")
        sys.exit(SKIPPED)
    unittest.main(module="__main__", argv=sys.argv[:1])
