#!/usr/bin/env python3
"""`make arm64` compiles Sumac for 64-bit Arm in a fresh root of Debian 12 that has both systems' libraries, from a clean clone of the last commit,
makes its packages, and runs the unit tests of pure rooms and seeds of each world under qemu: build/arm64.json. qemu keeps this
machine's order of memory, and its threads are this machine's: what a weaker order does to shared memory is not shown. Root is needed, and
Debian's servers. The compiler's cache stays in build/systems/arm64, the packages in build/arm64-packages."""

import argparse
import json
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "toolkit")]
import roots  # noqa: E402  pylint: disable=wrong-import-position
import run  # noqa: E402  pylint: disable=wrong-import-position
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position

# Those whose tests start no program and read nothing of the machine.
ROOMS = ["base", "recorder", "hop", "wire", "reduce", "coll", "cost", "topo", "fabricfile", "proto", "p2p", "manager"]
SEEDS = {"tree": "", "recovery": "--recovery", "hop": "--hop", "job": "--job"}
COUNT = 300
BUILD = "build/arm64"
# libmpich-dev asks for a compiler that runs on Arm; its headers are what is needed.
INSTALL = """
dpkg --add-architecture arm64
packaging/install packaging/apt-arm64.txt
(cd /var/tmp && apt-get download -q libmpich-dev:arm64 && dpkg -x libmpich-dev_*.deb /)
"""
COMPILE = f"""
cmake --preset dev -B {BUILD} --toolchain cmake/arm64.cmake -DSUMAC_WERROR=ON --log-level=WARNING
cmake --build {BUILD} -j $(nproc) --target programs manual reference sumac-seeds {' '.join(f'{room}_test' for room in ROOMS)}
"""
PACK = f"""
eval $(CC= dpkg-architecture -a arm64 -s -f)
export DEB_BUILD_OPTIONS=nocheck SUMAC_SETUP_EMULATOR=qemu-aarch64-static
packaging/packages {BUILD} build/arm64-packages
cd build/arm64-packages
apt-get install -y -q --no-install-recommends ./sumac_*.deb ./libsumac-sharp_*.deb ./libsumac-dev_*.deb
for program in sumac sharp_am sharp_an sharpd; do qemu-aarch64-static /usr/bin/$program --version; done
"""


def test(room):
    return f"qemu-aarch64-static {BUILD}/tests/{room}_test --gtest_brief=1 --gtest_output=json:{BUILD}/{room}.json"


def counted(report, status):
    """Returns (cases that passed, names of those that failed) of a program's report, and what is wrong with its end."""
    if not report.exists():
        return 0, ["it did not run to its end"]
    passed, failed = 0, []
    for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                failed.append(f"{suite['name']}.{case['name']}")
            else:
                passed += case["result"] == "COMPLETED"
    return passed, failed or [f"it ended with status {status}"] * int(status != 0)


def measure(folder, rows):
    given, clone, log = run.fresh(folder, "arm64")
    env, began, commit = roots.variables_of_installing(given), time.monotonic(), run.commit()

    def add(name, failed, **more):
        rows.add(name, "failed", failed, 0, commit=commit, **more)

    with roots.Root(roots.base(folder, "bookworm", ()), given) as root:
        def do(script):
            print(f"--- arm64: {' '.join(script.split())[:120]}", flush=True)
            return run.follow(root.command(f"set -e; cd {roots.GIVEN}/sumac; {script}", network=True), env, log)[0]

        # Each command enters the root anew; what it installed is still there.
        for what, script in (("packages to install", INSTALL), ("programs to compile", COMPILE)):
            if do(script) != 0:
                add("arm64-build", 1, what=what)
                return
        add("arm64-build", 0)
        passed, failed = 0, []
        for room in ROOMS:
            status = do(test(room))
            good, bad = counted(clone / BUILD / f"{room}.json", status)
            passed, failed = passed + good, failed + [f"{room}_test: {name}" for name in bad]
        add("arm64-unit", len(failed), passed=passed, names=failed)
        bad = [name for name, word in SEEDS.items() if do(f"qemu-aarch64-static {BUILD}/bin/sumac-seeds {word} --count {COUNT} --no-mutants") != 0]
        add("arm64-seeds", len(bad), worlds=list(SEEDS), count=COUNT, names=bad)
        status = do(PACK)
        made = sorted((clone / "build/arm64-packages").glob("*_arm64.deb"))
        add("arm64-packages", int(status != 0 or not made), packages=[each.name for each in made])
        kept = TOP / "build/arm64-packages"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for each in made:
            shutil.copy(each, kept)
    print(f"arm64: {round((time.monotonic() - began) / 60)} minutes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="build/arm64.json", help="the rows (build/arm64.json)")
    args = parser.parse_args()
    results.end_in_order()
    roots.check_machine()
    rows = results.Rows()
    measure(TOP / "build/systems", rows)
    results.report(rows, pathlib.Path(args.out))


if __name__ == "__main__":
    try:
        main()
    except roots.Unavailable as missing:
        sys.exit(f"arm64: {missing}")
    except KeyboardInterrupt:
        sys.exit("arm64: stopped; nothing of it runs any more")
