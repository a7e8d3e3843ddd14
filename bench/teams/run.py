#!/usr/bin/env python3
"""Times the Teams API of our libucc, beside UCC's own in turns where its libraries are given; writes a JSON file.

usage: run.py --build BUILD --out FILE [--ucc FOLDER_OF_LIBUCC] [--turns N]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

# Each case, and the factor by which ours must be faster.
MUST = {"allreduce-8B": 1.3, "allreduce-1KiB": 1.3, "bcast-8B": 1.3, "bcast-1KiB": 1.3, "barrier": 1.3, "allreduce-64KiB": 1.2,
        "allreduce-1MiB": 1.2, "bcast-64KiB": 1.2, "bcast-1MiB": 1.2, "alltoall-1KiB": 1.0, "alltoall-64KiB": 1.0}


def once(program, folder):
    environment = os.environ | {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=300, check=True)
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--ucc", default="")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    program = options.build.resolve() / "bin" / "teams-loop"
    folders = {"sumac": options.build.resolve() / "lib"} | ({"ucc": options.ucc} if options.ucc else {})
    times = {who: [] for who in folders}
    for _ in range(options.turns):
        for who, folder in folders.items():
            times[who].append(once(program, folder))
    medians = {who: {name: statistics.median(turn[name] for turn in turns) for name in turns[0]} for who, turns in times.items()}
    failed = []
    for name, ours in medians["sumac"].items():
        line = f"{name:16} sumac {ours / 1000:9.3f} us"
        if "ucc" in medians:
            ratio = medians["ucc"][name] / ours
            line += f"   ucc {medians['ucc'][name] / 1000:9.3f} us   {ratio:.2f} times as fast"
            if ratio < MUST.get(name, 0):
                failed.append(name)
                line += f" (must be {MUST[name]})"
        print(line)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"turns": times, "medians": medians, "failed": failed}, indent=1) + "\n")
    if not options.ucc:
        print("UCC's own library was not timed: SUMAC_UCC_LIB names its folder")
    sys.exit(1 if failed else 0)


main()
