#!/usr/bin/env python3
"""Times allreduces without a tree on the hosts of an emulated fabric: sumac-p2pbench on each host of a lab that this script starts.

usage: bench/parts/p2p.py [--build build/dev] FABRIC RATE_MBIT BYTES[,BYTES...] [ALGORITHM]
       bench/parts/p2p.py lab/fabrics/demo-8h-stream.yaml 200 67108864
"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import p2p_start  # noqa: E402  pylint: disable=wrong-import-position


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/dev", type=pathlib.Path)
    parser.add_argument("--seconds", default=120, type=int, help="the longest time that it may take")
    parser.add_argument("fabric")
    parser.add_argument("rate")
    parser.add_argument("sizes")
    parser.add_argument("algorithm", nargs="?")
    args = parser.parse_args()
    sumac, program = args.build.resolve() / "bin" / "sumac", args.build.resolve() / "bin" / "sumac-p2pbench"
    if not program.exists():
        sys.exit(f"p2p.py: {program} is not built: cmake --build {args.build} --target {program.name}")
    name = f"p2pbench-{os.getpid()}"

    def lab(verb, *words):
        return [str(sumac), "lab", verb, "--name", name, *map(str, words)]

    subprocess.run(lab("up", args.fabric, "--bare"), check=True, stdout=subprocess.DEVNULL)
    try:
        status = subprocess.run(lab("status"), check=True, capture_output=True, text=True).stdout
        hosts = [line.split()[1] for line in status.splitlines() if line.strip().startswith("host ")]
        last = [args.algorithm] if args.algorithm else []
        commands = [lab("exec", host, "--", program, rank, len(hosts), args.rate, args.sizes, *last) for rank, host in enumerate(hosts)]
        outcomes = p2p_start.run(commands, args.seconds)
        bad = [f"rank {rank} ended with {outcome.code}: {outcome.error.strip()}" for rank, outcome in enumerate(outcomes) if outcome.code != 0]
        if bad:
            sys.exit("\n".join(bad))
        print("\n".join(outcomes[0].lines))
        status = subprocess.run(lab("status"), check=True, capture_output=True, text=True).stdout
        print(next(line.strip() for line in status.splitlines() if line.strip().startswith("drops")))
    finally:
        subprocess.run(lab("down"), check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
