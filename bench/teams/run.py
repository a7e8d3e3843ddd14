#!/usr/bin/env python3
"""`make bench-teams`: the Teams API of our libucc inside this host, in turns with UCC's own where --ucc names its folder.

Both are the same program (loop.cpp), started anew in each turn; the ratio of two neighbours counts."""
import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from core import table as T  # noqa: E402
from core import verdict as V  # noqa: E402
from core.cells import Results  # noqa: E402
from core.clock import end_as_by_ctrl_c  # noqa: E402
from core.pairs import take_turns  # noqa: E402

SUMAC, UCC = "sumac", "ucc"
# Each case, and how many times as fast as UCC's own it must be. What only makes a request and ends it is told.
MUST = {"allreduce-8B": 1.3, "allreduce-1KiB": 1.3, "bcast-8B": 1.3, "bcast-1KiB": 1.3, "barrier": 1.3, "allreduce-64KiB": 1.2,
        "allreduce-1MiB": 1.2, "bcast-64KiB": 1.2, "bcast-1MiB": 1.2, "alltoall-1KiB": 1.0, "alltoall-64KiB": 1.0, "init-finalize": None}


def once(program, folder):
    """Returns {case: us}, or raises RuntimeError with what the program said."""
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{folder}: exit status {done.returncode}: {done.stderr.strip()}")
    # UCC's library writes its own log there too.
    found = {words[0]: float(words[1]) / 1000 for words in map(str.split, done.stdout.splitlines()) if len(words) == 2 and words[0] in MUST}
    if len(found) < len(MUST):
        raise RuntimeError(f"{folder}: not every case has a time:\n{done.stdout}")
    return found


def measure(program, ours, peers, turns):
    results = Results()
    runs = take_turns(turns, lambda: once(program, peers) if peers else {}, lambda: once(program, ours))
    for turn, (theirs, mine) in enumerate(runs):
        print(f"turn {turn + 1} of {turns}", flush=True)
        for name, us in mine.items():
            results.cell(name, SUMAC).values.append(us)
            if name in theirs:
                results.cell(name, UCC).values.append(theirs[name])
                results.pair(name, UCC).add(turn, theirs[name] / us)
    return results


def entry(name, must, results):
    pairs = results.pair(name, UCC)
    judged = V.Judgement()
    if pairs.values and must is not None:
        # A ratio fails when its interval lies wholly below the limit.
        judged.hold((pairs.interval[1] if pairs.interval else pairs.ratio) >= must, f"{pairs.ratio:.2f} x as fast as UCC")
    word, why = judged.result("UCC's own library was not timed: SUMAC_UCC_LIB names its folder" if must else "no target")
    return T.entry(name, "us", results.value(name, SUMAC), {"UCC": results.value(name, UCC)}, must, None, best_peer="UCC", ratio=pairs.ratio,
                   ratio_interval=list(pairs.interval) if pairs.interval else None, **V.keys(word, why, f">= {must} x UCC" if must else "told"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/teams.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--ucc", default="", help="the folder of UCC's own libucc.so.1")
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    end_as_by_ctrl_c()
    build = options.build.resolve()
    try:
        results = measure(build / "bin" / "teams-loop", build / "lib", options.ucc, options.turns)
    except RuntimeError as why:
        sys.exit(f"bench-teams: {why}")
    entries = [entry(name, must, results) for name, must in MUST.items()]
    head = ["case", "unit", "Sumac", "UCC", "UCC / Sumac", "95 %", "must hold", ""]
    body = [[one["case"], one["unit"], T.number(one["sumac"]), T.number(one["peers"]["UCC"]), T.number(one["ratio"]),
             T.interval_text(one["ratio_interval"]), one["must"], one["verdict"]] for one in entries]
    lines = T.markdown(head, body)
    print("\n".join(["", *lines]))
    T.write(options.out, entries, lines)
    return V.complain(entries, lambda column: column == "UCC")


if __name__ == "__main__":
    sys.exit(main())
