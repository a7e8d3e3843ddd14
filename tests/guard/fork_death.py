"""Ranks that have forked are killed: their children hold copies of all descriptors, and the others must learn of the death nevertheless.
A rank forks a sleeper and is killed. Children are made by fork(), by the plain system call (which no library
notices, so that only sharpd can report the death), by threads, and by children; each time two survivors wait in an operation."""

import subprocess

import common

LIMIT_MS = 1000


def attack(rows, args):
    count = 100 if args.long else 15
    house = common.House("fork-death")
    program = common.BIN.parent / "tests" / "guard" / "fork-death"
    done = subprocess.run([str(program), str(house.socket), str(count)], check=True, capture_output=True, text=True, timeout=20 * count + 60)
    times = {}
    for words in map(str.split, done.stdout.splitlines()):
        if len(words) == 2 and words[1] != "none":
            times.setdefault(words[0], []).append(float(words[1]))
    heard = [ms for of_kind in times.values() for ms in of_kind]
    if len(heard) < count:
        print(done.stdout)
    rows.add("fork-death: deaths without a verdict", f"of {count}", count - len(heard), 0)
    rows.add("fork-death: worst time to the verdict", "ms", max(heard, default=float("nan")), LIMIT_MS)
    print("worst by kind, ms: " + ", ".join(f"{kind} {max(ms):.1f}" for kind, ms in sorted(times.items())))


common.main(attack, __doc__)
