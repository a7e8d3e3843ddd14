#!/usr/bin/env python3
"""What a stranger types first, in a fresh root of Debian: `fresh_root.py SUITE demo` compiles the working tree there and runs `make demo`,
`fresh_root.py SUITE test` makes the set-up of `make test` and configures. The compiler's cache and the build folder of each suite stay in
build/reports, so the second run is quick; everything else of the root is made anew. Root is needed, and Debian's servers (for `test` also
PyPI, for the Python packages without PyTorch)."""

import pathlib
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests/toolkit"))
import roots  # noqa: E402  pylint: disable=wrong-import-position

WORDS = {
    "demo": "make demo",  # It ends with 0 only if every row ran and was verified.
    # A second set-up installs nothing and is silent, else the first one lacked something.
    "test": "make setup-dev setup-python configure; again=$(make setup-dev setup-python 2>&1); test -z \"$again\"",
}


def copy_sources(to):
    """Copies the files of the working tree that git knows; a file that did not change keeps its time, so it is not compiled again."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name and (TOP / name).exists()]
    for name in names:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (TOP / name).read_bytes():
            shutil.copy2(TOP / name, target)
    gone = {path for path in to.rglob("*") if path.is_file() and not path.is_relative_to(to / "build")} - {to / name for name in names}
    for path in gone:
        path.unlink()


def main():
    suite, what = sys.argv[1:]
    roots.check_machine()
    folder = TOP / "build/reports/roots"
    given = folder / suite
    copy_sources(given / "sumac")
    env = roots.variables_of_installing(given)
    if what == "test":
        shutil.rmtree(given / "sumac/build/python", ignore_errors=True)
        env["SUMAC_TORCH"] = "no"
    with roots.Root(roots.base(folder, suite, ()), given) as root:
        done = subprocess.run(root.command(f"{roots.BEGIN} {WORDS[what]}", network=True), env=env, stdin=subprocess.DEVNULL, check=False)
    print(f"{suite}: make {what}: {'works' if done.returncode == 0 else f'status {done.returncode}'}", flush=True)
    return done.returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that its folders go
    sys.exit(main())
