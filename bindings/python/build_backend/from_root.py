"""The build backend of the repository's root: that of bindings/python, which reads its pyproject.toml there."""
import os
import pathlib

os.chdir(pathlib.Path(__file__).resolve().parents[1])

from scikit_build_core.build import *  # noqa: E402,F403
