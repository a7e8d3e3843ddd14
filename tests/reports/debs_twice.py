#!/usr/bin/env python3
"""Builds the working tree in two folders, whose names have other lengths, and makes packages and tar of each: a file must have the same bytes in
both. Two whole builds take an hour on two cores, so `make test` only looks for the folder's name in what is packaged (install.packages,
install.tar)."""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import fresh_root


def run(*command, folder):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"debs_twice: {command} in {folder}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def prepare(folder):
    fresh_root.copy_sources(folder)
    python = fresh_root.TOP / "build/python"
    if python.exists():
        (folder / "build").mkdir()
        (folder / "build/python").symlink_to(python.resolve())


def made_in(folder):
    """Returns {name: checksum} of the packages and the tar."""
    run("cmake", "--preset", "dev", folder=folder)
    run("cmake", "--build", "build/dev", "--target", "programs", "manual", folder=folder)
    run("packaging/packages", "build/dev", "build/packages", folder=folder)
    run("packaging/tar", "build/dev", "build/tar", folder=folder)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in [*folder.glob("build/packages/*.deb"), *folder.glob("build/tar/*.xz")]}


def main():
    with tempfile.TemporaryDirectory(dir=pathlib.Path(os.environ.get("SUMAC_BUILD", "build/dev")).resolve().parent, prefix="debs-twice-") as scratch:
        folders = [pathlib.Path(scratch) / name for name in ("first", "a-second-folder")]
        for folder in folders:  # Both at once: the working tree may change while they are built.
            prepare(folder)
        first, second = map(made_in, folders)
    for name in sorted(first | second):
        print(f"{name}: {'the same' if first.get(name) == second.get(name) else 'DIFFERS'}")
    return int(first != second or len(first) < 5)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that its folders go
    sys.exit(main())
