"""The least times of methods on a fabric, as the program computes them: no bench has a formula of its own."""

import functools
import json
import subprocess
from pathlib import Path

FABRICS = Path(__file__).resolve().parents[2] / "lab" / "fabrics"


@functools.cache
def of_fabric(sumac, name):
    """The output of `sumac fabric bounds --json` for a file of lab/fabrics. `sumac`: the program's path."""
    done = subprocess.run([sumac, "fabric", "bounds", FABRICS / name, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"sumac fabric bounds {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def stream_ms(bounds, way, size):
    """The time of `size` bytes, without delay, of the method at the end of `way`, as ("kinds", "bcast", "tree")."""
    return 1e3 * size * functools.reduce(lambda found, word: found[word], way, bounds)["per_byte_s"]
