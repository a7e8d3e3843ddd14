"""Ranks that have forked and are killed: their children hold copies of all they had, and the others hear of the death all the same.

Recipe of finding 17: a rank forks a sleeper and is killed. Children made by fork(), by the plain system call (of which no library hears, so
that sharpd's word is all there is), by threads, and children of children; each time two survivors wait in an operation."""

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
    rows.add("fork-death (f17): deaths without a verdict", f"of {count}", count - len(heard), 0)
    rows.add("fork-death: worst time to the verdict", "ms", max(heard, default=float("nan")), LIMIT_MS)
    print("worst by kind, ms: " + ", ".join(f"{kind} {max(ms):.1f}" for kind, ms in sorted(times.items())))


common.main(attack, __doc__)
