#!/usr/bin/env python3
"""metrics-cost: the instructions that a node takes for an operation of 8 B (callgrind): with metrics off, with metrics on, and with metrics on
and scraped 10 times a second. `--before BUILD` compares with a build without metrics, because the histograms are always recorded. The limit
holds for the part that handles the messages (proto::Node::on_message and all that it calls), which repeats to 0.1 %. The whole thread of the
tree, with its waits and system calls, varies by 1 % on a busy machine: it is printed only.
usage: tests/metrics/cost.py [--build build/dev] [--before BUILD] [--out FILE]"""

import http.client
import pathlib
import re
import statistics
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "guard"))
import common  # noqa: E402
import handshake_cost as cost  # noqa: E402

ON = ["--metrics-listen", "127.0.0.1:0", "--log-level", "3"]
SECONDS_BETWEEN = 0.1
REPEATS = 2
# The last part is the one that is judged.
PARTS = {"whole thread": "sumac::node::Shard::run()", "messages": "sumac::proto::Node::on_message*"}


class Scraper:
    """Scrapes a node ten times a second until close()."""

    def __init__(self, house):
        self.port = int(re.findall(r"metrics at 127\.0\.0\.1:(\d+)", house.log("sharp_an"))[-1])
        self.over = threading.Event()
        self.count = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(SECONDS_BETWEEN):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("GET", "/metrics")
            self.count += b"sumac_node_answered_total" in connection.getresponse().read()
            connection.close()

    def close(self):
        self.over.set()
        self.thread.join()
        if self.count == 0:
            raise AssertionError("no scrape was answered")


def at_node(build, words, scrape, count, label, part):
    """Returns the instructions of this part of the node in a job of `count` operations."""
    out = common.ground.SCRATCH / f"{label}-{count}.node"
    house = build.house(f"{label}-{count}", under={"sharp_an": cost.callgrind(out, part)},
                        words={"sharp_an": ["--spin", "0", "--heartbeat", "600s", "--lost-after", "3600s", *words]})
    scraper = Scraper(house) if scrape else None
    build.job(house, "operations", count, 8, under=cost.ON_ONE)
    if scraper:
        scraper.close()
    house.close()
    return cost.counted(out)


def per_operation(build, words, scrape, label, part):
    few, many = (at_node(build, words, scrape, count, label, part) for count in cost.COUNTS)
    return (many - few) / (cost.COUNTS[1] - cost.COUNTS[0])


def count_instructions(rows, now, before):
    ways = {"off": (now, [], False), "on": (now, ON, False), "scraped": (now, ON, True)}
    if before:
        ways["before"] = (before, [], False)
    middle = {}
    for what, part in PARTS.items():
        found = {name: [] for name in ways}
        for turn in range(REPEATS):
            for name, (build, words, scrape) in ways.items():
                found[name].append(per_operation(build, words, scrape, f"{what.replace(' ', '-')}-{name}-{turn}", part))
        for name, numbers in found.items():
            print(f"instructions of 8 B at the node, {what}, metrics {name}: {cost.spread(numbers)}", flush=True)
        middle = {name: statistics.median(numbers) for name, numbers in found.items()}
    rows.add("metrics-cost instructions of 8 B at the node", "x, metrics on and off", middle["on"] / middle["off"], 1.02)
    if before:
        rows.add("metrics-cost instructions of 8 B at the node", "x of the tree before metrics", middle["off"] / middle["before"], 1.02)


def attack(rows, args):
    if not cost.shutil.which("valgrind"):
        common.case.skip_or_fail("no valgrind (make setup-guard)")
    count_instructions(rows, cost.Build("now", args.build), cost.Build("before", args.before) if args.before else None)


if __name__ == "__main__":
    common.main(attack, __doc__)
