"""Prometheus' own programs. The package would start a server at each boot, so packaging/unpack takes the programs only."""

import os
import pathlib
import shutil

PRIVATE = pathlib.Path(__file__).resolve().parents[2] / "build" / "private" / "prometheus" / "usr" / "bin"


def find(program):
    """Returns the path of promtool or prometheus, or None."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{PRIVATE}")
