#!/usr/bin/env python3
"""What a node costs beside a bare loop that receives 8 messages and sends 8 results, per CPU second of its thread.

usage: bench/node/run.py [--build build/dev] [--json] [--case NAME ...] [--pairs 5] [--seconds 1.5]
"""
import argparse
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from core.cases import chosen  # noqa: E402
from core.pairs import Pairs, median, take_turns  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    bytes: int
    window: int
    what: str
    streaming: bool = False
    gather: bool = False  # the bare loop takes all there is in one call
    least: float | None = None

    def load(self) -> list[str]:
        return ["--bytes", str(self.bytes), "--window", str(self.window), *(["--stream"] if self.streaming else [])]


CASES = [
    Case("node-stream-8c", 64 << 10, 16, "64 KiB chunks, 16 in flight", streaming=True, least=0.85),
    Case("node-small-8c", 8, 1, "8 B, one operation at a time", least=0.70),
    Case("node-small-8c-pipelined", 8, 16, "8 B, 16 in flight; the bare loop one message a call"),
    Case("node-small-8c-gathered", 8, 16, "8 B, 16 in flight; the bare loop reads and writes all there is in one call", gather=True),
]


class Server:
    """A process that says `ready ADDR:PORT`, and is gone when the block ends, however it ends."""

    def __init__(self, words: list[str]):
        self.words = words

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        self.bound = None
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "bound":
                self.bound = int(rest)
            if word == "ready":
                self.address = rest
                return self
        self.process.wait()
        raise RuntimeError(f"{self.words[0]} did not start")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.output, _ = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def measure(bin_dir: pathlib.Path, case: Case, sumac: bool, seconds: float, more: list[str]) -> dict:
    if sumac:
        words = [str(bin_dir / "node-data"), *more]
    else:
        words = [str(bin_dir / "node-bare"), "--bytes", str(case.bytes), *(["--gather"] if case.gather else [])]
    with Server(words) as server:
        load = subprocess.run([bin_dir / "node-load", "--to", server.address, "--pid", str(server.process.pid), "--speak",
                               "sumac" if sumac else "bare", "--seconds", str(seconds), *case.load()],
                              capture_output=True, text=True, timeout=60 + seconds)
    if load.returncode != 0:
        raise RuntimeError(load.stderr.strip())
    line = json.loads(load.stdout)
    if sumac and line["checked"] == 0:
        raise RuntimeError("node-load compared no result")
    return line


def take_pairs(bin_dir: pathlib.Path, case: Case, count: int, seconds: float, more: list[str]):
    """Operations per CPU second: (of the bare loop, of the node), `count` times."""
    def side(sumac: bool):
        return lambda: measure(bin_dir, case, sumac, seconds, more)["per_cpu_s"]
    return take_turns(count, side(False), side(True))


def compare(bin_dir: pathlib.Path, case: Case, count: int, seconds: float, more: list[str]) -> dict:
    bare, sumac, pairs = [], [], Pairs()
    for one, other in take_pairs(bin_dir, case, count, seconds, more):
        bare.append(one)
        sumac.append(other)
        pairs.add(0, other / one)
        print(f"  {case.name}: pair {len(bare)} of {count}: {pairs.values[-1]:.3f}", file=sys.stderr, flush=True)
    low, high = pairs.interval or (None, None)
    return {"case": case.name, "bare": round(median(bare), 1), "sumac": round(median(sumac), 1), "ratio": round(pairs.ratio, 4),
            "ratio_low": low and round(low, 4), "ratio_high": high and round(high, 4), "pairs": count,
            "unit": "operations per CPU second", "least": case.least}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/dev", help="where bin/node-load lies")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each case")
    parser.add_argument("--case", metavar="CASE,...", default="", help="these cases only, names or patterns as 'node-small*'")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="measured time of one half of a pair")
    parser.add_argument("--node", default="", help="more options for node-data, e.g. '--spin 0'")
    options = parser.parse_args()
    bin_dir = pathlib.Path(options.build) / "bin"
    if not (bin_dir / "node-load").exists():
        print(f"run.py: no {bin_dir}/node-load: build first (make, or --build)", file=sys.stderr)
        return 2
    try:
        names = chosen(options.case, [case.name for case in CASES])
    except ValueError as wrong:
        sys.exit(f"run.py: {wrong}")
    failed = False
    for case in (case for case in CASES if case.name in names):
        try:
            line = compare(bin_dir, case, options.pairs, options.seconds, options.node.split())
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"run.py: {case.name}: {error}", file=sys.stderr)
            return 1
        failed |= case.least is not None and line["ratio"] < case.least
        if options.json:
            print(json.dumps(line), flush=True)
        else:
            wanted = f" (at least {case.least:.2f})" if case.least is not None else ""
            spread = f" ({line['ratio_low']:.3f}..{line['ratio_high']:.3f})" if line["ratio_low"] else ""
            print(f"{case.name}: {case.what}: bare {line['bare']:.0f}/s, sumac {line['sumac']:.0f}/s, "
                  f"{line['ratio']:.3f}{spread}{wanted}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
