#!/usr/bin/env python3
"""Times allreduces without a tree on the hosts of an emulated fabric: sumac-p2pbench on each host of a lab that this script starts.

usage: bench/parts/p2p.py [--build build/dev] FABRIC RATE_MBIT BYTES[,BYTES...] [ALGORITHM]
       bench/parts/p2p.py lab/fabrics/demo-8h-stream.yaml 200 67108864
       bench/parts/p2p.py --pairs 12 lab/fabrics/fabric-8h-100mbit.yaml 100 8,1048576     # ucx beside tcp, in turns
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import p2p_start  # noqa: E402  pylint: disable=wrong-import-position
from core import pairs  # noqa: E402  pylint: disable=wrong-import-position

UCX_MOST = 1.1  # times tcp's time


def beside_tcp(count, run, hosts):
    """Prints a row for each size; returns whether one is slower than it may be, by the whole interval of its ratio."""
    rows, times = {}, {}
    for turn, (over_tcp, over_ucx) in enumerate(pairs.take_turns(count, lambda: run("tcp"), lambda: run("ucx"))):
        for tcp, ucx in zip(map(json.loads, over_tcp[1:]), map(json.loads, over_ucx[1:])):
            rows.setdefault(tcp["bytes"], pairs.Pairs()).add(turn, ucx["us"] / tcp["us"])
            times.setdefault(tcp["bytes"], []).append((tcp["us"], ucx["us"]))
    for size, row in rows.items():
        tcp_us, ucx_us = (pairs.median(column) for column in zip(*times[size]))
        low, high = row.interval
        name = f"{size >> 20}MiB" if size % (1 << 20) == 0 else f"{size}B"
        print(json.dumps({"case": f"allreduce-{name}-{hosts}h-ucx", "tcp_us": round(tcp_us, 1), "ucx_us": round(ucx_us, 1),
                          "ratio": round(row.ratio, 3), "interval": [round(low, 3), round(high, 3)], "must": UCX_MOST}))
    return any(row.interval[0] > UCX_MOST for row in rows.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/dev", type=pathlib.Path)
    parser.add_argument("--seconds", default=120, type=int, help="the longest time that it may take")
    parser.add_argument("--pairs", default=0, type=int, help="so many turns over tcp and over ucx; at least 2")
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
        commands = [(host, (program, rank, len(hosts), args.rate, args.sizes, *last)) for rank, host in enumerate(hosts)]

        def run(transport):
            outcomes = p2p_start.run([lab("exec", host, "--", "env", f"SUMAC_TRANSPORT={transport}", *words) for host, words in commands],
                                     args.seconds)
            bad = [f"rank {rank} ended with {outcome.code}: {outcome.error.strip()}" for rank, outcome in enumerate(outcomes) if outcome.code]
            if bad:
                sys.exit("\n".join(bad))
            return outcomes[0].lines

        is_slow = beside_tcp(args.pairs, run, len(hosts)) if args.pairs else print("\n".join(run("tcp")))
        status = subprocess.run(lab("status"), check=True, capture_output=True, text=True).stdout
        print(next(line.strip() for line in status.splitlines() if line.strip().startswith("drops")))
        if is_slow:
            sys.exit(1)
    finally:
        subprocess.run(lab("down"), check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
