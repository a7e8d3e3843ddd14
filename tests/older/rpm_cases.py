#!/usr/bin/env python3
"""The RPM of the tar's files: what it requires, its installation into a folder by rpm itself, and a program that runs from there. No RHEL was tried.
usage: rpm_cases.py [--out FILE]    SUMAC_BUILD names the build folder"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
TOP = HERE.parents[2]
sys.path[:0] = [str(TOP / "tests")]
import files  # noqa: E402  pylint: disable=wrong-import-position
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position

REQUIRES = ["/bin/sh", "libc.so.6(GLIBC_2.28)(64bit)", "libgcc_s.so.1(GCC_4.2.0)(64bit)"]
PROVIDES = ["sumac", "sumac(x86-64)"]


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def names(rpm, option):
    return sorted({line.split(" = ")[0].strip() for line in call("rpm", "-qp", option, rpm).splitlines() if line and not line.startswith("rpmlib(")})


def run(rows):
    if shutil.which("rpmbuild") is None:
        print("skipped: no rpmbuild (make setup-packages)")
        sys.exit(77)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="sumac-rpm-") as scratch:
        folder = pathlib.Path(scratch)
        archive, unpacked = files.tar(folder / "tar")
        rpm = call(TOP / "packaging/rpm/build", archive, folder).split()[-1]
        for option, expected in (("--requires", REQUIRES), ("--provides", PROVIDES)):
            if (found := names(rpm, option)) != expected:
                wrong.append(f"{option}: {found}, expected {expected}")
        if (newest := f"libc.so.6(GLIBC_2.{files.newest_glibc(unpacked)})(64bit)") not in REQUIRES:
            wrong.append(f"the files ask for {newest}")
        root = folder / "root"
        call("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "--noscripts", "-i", rpm)
        installed = root / "opt/sumac"
        for path in unpacked.rglob("*"):
            if not (there := installed / path.relative_to(unpacked)).exists() and not there.is_symlink():
                wrong.append(f"{path.relative_to(unpacked)} is not installed")
        if "all sums exact" not in (said := call(installed / "bin/sumac", "run", installed / "lib/sumac/examples/example-allreduce")):
            wrong.append(f"sumac run: {said}")
        call("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "-e", "sumac")
        if installed.exists():
            wrong.append("files are left after the removal")
    for each in wrong:
        print(f"  - {each}", flush=True)
    rows.add("rpm", "failures", len(wrong), 0)


if __name__ == "__main__":
    results.cases(__doc__, run)
