"""Starts `sumac fabric` for these tests."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUMAC = pathlib.Path(os.environ.get("SUMAC_BUILD", ROOT / "build/dev")) / "bin/sumac"
CORPUS = ROOT / "tests/corpus/ibnetdiscover"


def fabric(*words):
    return subprocess.run([SUMAC, "fabric", *map(str, words)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
