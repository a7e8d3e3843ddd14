#!/usr/bin/env python3
"""metrics-cost: the instructions that a node takes for an operation of 8 B (callgrind): with metrics off, with metrics on, and with metrics on
and scraped 10 times a second. `--before BUILD` compares with a build without metrics, because the histograms are always recorded. The limit
holds for the part that handles the messages (proto::Node::on_message and all that it calls), which repeats to 0.1 %. The whole thread of the
tree, with its waits and system calls, varies by 1 % on a busy machine: it is printed only. Then the p99 of a job's barriers, in turns with
scrapes and without.
usage: tests/metrics/cost.py [--build build/dev] [--before BUILD] [--out FILE]"""

import contextlib
import http.client
import multiprocessing
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "guard"))
import common  # noqa: E402
import handshake_cost as cost  # noqa: E402
import tenant  # noqa: E402

ON = ["--metrics-listen", "127.0.0.1:0", "--log-level", "3"]
SECONDS_BETWEEN = 0.1
REPEATS = 2
TURNS, TURN_S = 10, 2.0
# The last part is the one that is judged.
PARTS = {"whole thread": "sumac::node::Shard::run()", "messages": "sumac::proto::Node::on_message*"}


def scrape(port, over, count):
    while not over.wait(SECONDS_BETWEEN):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics")
        count.value += b"sumac_node_answered_total" in connection.getresponse().read()
        connection.close()


@contextlib.contextmanager
def scraping(house):
    """Scrapes the node ten times a second, in a process of its own: a thread would hold up a caller that measures."""
    port = int(re.findall(r"metrics at 127\.0\.0\.1:(\d+)", house.log("sharp_an"))[-1])
    over, count = multiprocessing.Event(), multiprocessing.Value("q", 0)
    process = multiprocessing.Process(target=scrape, args=(port, over, count), daemon=True)
    process.start()
    try:
        yield
    finally:
        over.set()
        process.join()
    if count.value == 0:
        raise AssertionError("no scrape was answered")


def at_node(build, words, is_scraped, count, label, part):
    """Returns the instructions of this part of the node in a job of `count` operations."""
    out = common.ground.SCRATCH / f"{label}-{count}.node"
    house = build.house(f"{label}-{count}", under={"sharp_an": cost.callgrind(out, part)},
                        words={"sharp_an": ["--spin", "0", "--heartbeat", "600s", "--lost-after", "3600s", *words]})
    with scraping(house) if is_scraped else contextlib.nullcontext():
        build.job(house, "operations", count, 8, under=cost.ON_ONE)
    house.close()
    return cost.counted(out)


def per_operation(build, words, is_scraped, label, part):
    few, many = (at_node(build, words, is_scraped, count, label, part) for count in cost.COUNTS)
    return (many - few) / (cost.COUNTS[1] - cost.COUNTS[0])


def count_instructions(rows, now, before):
    ways = {"off": (now, [], False), "on": (now, ON, False), "scraped": (now, ON, True)}
    if before:
        ways["before"] = (before, [], False)
    middle = {}
    for what, part in PARTS.items():
        found = {name: [] for name in ways}
        for turn in range(REPEATS):
            for name, (build, words, is_scraped) in ways.items():
                found[name].append(per_operation(build, words, is_scraped, f"{what.replace(' ', '-')}-{name}-{turn}", part))
        for name, numbers in found.items():
            print(f"instructions of 8 B at the node, {what}, metrics {name}: {cost.spread(numbers)}", flush=True)
        middle = {name: statistics.median(numbers) for name, numbers in found.items()}
    rows.add("metrics-cost instructions of 8 B at the node", "x, metrics on and off", middle["on"] / middle["off"], 1.02)
    if before:
        rows.add("metrics-cost instructions of 8 B at the node", "x of the tree before metrics", middle["off"] / middle["before"], 1.02)


def time_operations(rows, build):
    house = build.house("p99", words={"sharp_an": ON})
    found = {False: [], True: []}
    for turn in range(TURNS):
        for is_scraped in (turn % 2 == 1, turn % 2 == 0):
            with scraping(house) if is_scraped else contextlib.nullcontext():
                found[is_scraped].append(tenant.p99(tenant.latencies(house, 20 + 2 * turn + is_scraped, TURN_S)))
    house.close()
    print("p99 of barriers at the node, us: " + "; ".join(f"{'scraped' if key else 'alone'} {cost.spread([1e6 * one for one in values])}"
                                                          for key, values in found.items()), flush=True)
    ratios = [scraped / alone for alone, scraped in zip(found[False], found[True])]
    rows.add("metrics-cost p99 of a node", "x, 10 scrapes a second and none", statistics.median(ratios), 1.2)


def attack(rows, args):
    now = cost.Build("now", args.build)
    time_operations(rows, now)
    if not cost.shutil.which("valgrind"):
        common.case.skip_or_fail("no valgrind (make setup-guard)")
    count_instructions(rows, now, cost.Build("before", args.before) if args.before else None)


if __name__ == "__main__":
    common.main(attack, __doc__)
