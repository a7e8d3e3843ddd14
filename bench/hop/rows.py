"""Rows of `make hop` that are no pair of ways: what loss and silence cost, the kernel's own time, and what proves the machine."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from core.pairs import median
from demolib.lab import LabError, last_words, run
from demolib.ways import WayFailed, environment_flags, run_mpi

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path.append(str(TESTS))

LOSS, CALLS_ALONE, CALLS_KILLED = 0.01, 10_000, 200_000
SPACING_S = 0.05
STREAMED = [word for case in ("allreduce:8:20000", "allreduce:1M:50", "allreduce:128:20000") for word in ("--case", case)]
PRICES_NS = {8: 550, 128: 950}


def mixed(lab, tools, hosts, words, seconds):
    """Runs hop-mixed; returns its line. Most of its frames must go to the kernel."""
    flags = [*environment_flags(), "-x", "SUMAC_COLL_HOP=1", "-x", "SHARP_COLL_STATS_DUMP_MODE=2", "-x", "SHARP_COLL_LOG_LEVEL=3"]
    out, err = run_mpi(lab, hosts, flags, [tools.program("hop-mixed"), *words], seconds)
    line = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
    datagrams = re.search(r"datagrams:(\d+)", out + err)
    least = 0.9 * hosts * line.get("calls", line.get("silences", 0))
    if not datagrams or int(datagrams[1]) < least:
        raise WayFailed(f"it went another way: {datagrams[0] if datagrams else 'no datagrams'} of {least:.0f}")
    return line


def lose(lab, share):
    """From now on each link loses this share of its frames."""
    for one in {frozenset((link["from"], link["to"])) for link in lab.status()["links"]}:
        words = ["loss", str(share)] if share else ["up"]
        done = subprocess.run(lab.command("link", *sorted(one), *words), capture_output=True, text=True, timeout=30, check=False)
        if done.returncode != 0:
            raise LabError(last_words(done.stderr))


def loss(lab, tools, fabric, calls):
    alone = mixed(lab, tools, fabric.hosts, ["--calls", CALLS_ALONE], 300)
    lose(lab, LOSS)
    try:
        lossy = mixed(lab, tools, fabric.hosts, ["--calls", calls], 1800)
    finally:
        lose(lab, 0)
    more = (lossy["p99"] - alone["p99"]) / fabric.wire_ms
    return [("loss-wrong", f"wrong results in {calls} calls at {LOSS:.0%} on each link", alone["errors"] + lossy["errors"], 0, {}),
            ("loss-p99", "round trips more than without loss", more, 3.5, {"ms": lossy["p99"], "alone_ms": alone["p99"], "median_ms": lossy["p50"], "max_ms": lossy["max"], "ms_of": lossy["p99_of"], "alone_ms_of": alone["p99_of"]})]


def idle(lab, tools, fabric):
    line = mixed(lab, tools, fabric.hosts, ["--silences", 20], 300)
    if line["errors"]:
        raise WayFailed("idle-hop: wrong results")
    return [("idle-hop", "first after 1 s of silence, x a warm one", line["first"] / line["warm"], 1.3, {"ms": line["first"], "warm_ms": line["warm"]})]


def daemon_kills(tools, most):
    """Each sharp_an of a lab is killed in turns under jobs of small operations, and every fourth job has streams as well, which may leave its tree.
    A kill comes SPACING_S after all groups have gone to another tree: the first operation of a new group goes by the links."""
    os.environ["SUMAC_BUILD"], os.environ["SUMAC_NODE_HOP"] = str(tools.build), "auto"
    sys.path.append(str(TESTS / "faults"))
    from goes_on import ON, await_tree, case, nodes_of, started  # pylint: disable=import-outside-toplevel
    from killer import STARTED_AFTER_S, Killer  # pylint: disable=import-outside-toplevel

    on = {**ON, "HCOLL_ENABLE_SHARP": "0", "SHARP_COLL_ENABLE_SAT": "1", "SHARP_COLL_LOG_LEVEL": "3"}
    again, kills, jobs, operations, errors, left, back_ms = "is on a tree again", 0, 0, 0, 0, 0, []

    def await_text(job, words, count):
        until = time.monotonic() + 60
        while job.text().count(words) < count and job.process.poll() is None:
            if time.monotonic() > until:
                raise WayFailed(f"not within 60 s: {words}")
            time.sleep(0.005)

    lab = case.Lab("hop-kills")
    lab.up()
    try:
        killer, names = Killer(lab), sorted(nodes_of(lab))
        while kills < most:
            await_tree(lab, is_whole=True)
            has_streams = jobs % 4 == 3
            words = [tools.program("sharp-client"), *STREAMED] if has_streams else [tools.program("hop-mixed"), "--calls", CALLS_KILLED]
            with started(lab, 4, lambda _, words=words: ["--map-by", "ppr:1:node", *words], on) as job:
                await_text(job, "go by the hop", 1)
                for changes in range(1, most - kills + 1):
                    time.sleep(SPACING_S)
                    name = names[kills % len(names)]
                    begun = killer.kill(name, nodes_of(lab)[name]) / 1e9 + STARTED_AFTER_S
                    killer.settle()
                    kills += 1
                    await_text(job, again, changes)
                    if job.process.poll() is not None:
                        break
                    back_ms.append((time.monotonic() - begun) * 1000)
                code = job.process.wait(timeout=300)
                text = job.text()
            if code != 0:
                raise WayFailed(f"status {code}: {last_words(text)}")
            found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
            errors += sum(line["errors"] for line in found)
            operations += sum(line.get("calls", line.get("iterations", 0)) for line in found)
            left += 0 if has_streams else text.count("has lost its tree")
            jobs += 1
    finally:
        lab.down()
    if not back_ms:
        raise WayFailed(f"no job outlived a kill: {jobs} jobs, {kills} kills")
    more = {"kills": kills, "operations": operations, "jobs": jobs}
    return [("daemon-kills-wrong", f"wrong results in {operations} operations, {kills} kills", errors, 0, more),
            ("daemon-kills-left", f"groups without a stream that left their tree, {len(back_ms)} other trees", left, 0, more),
            ("daemon-kills-again", "ms from the start of sharp_an to another tree, at most", max(back_ms), 1000, {"median_ms": median(back_ms)})]


def program(command, seconds):
    status, out, err = run([str(word) for word in command], seconds)
    if status is None:
        raise WayFailed(f"{Path(command[0]).name}: not done after {seconds} s")
    return status, out + err


def prices(tools):
    """The kernel's nanoseconds of a contribution, tags and copies of results included."""
    status, text = program([tools.program("hop-price")], 120)
    found = {int(size): float(ns) for size, ns in re.findall(r"(\d+) B, 16 children, with copies: (\d+) ns", text)}
    if status != 0 or not PRICES_NS.keys() <= found.keys():
        raise WayFailed(last_words(text))
    return [(f"node-cost-{size}B", "ns of the kernel for a contribution, 16 children", found[size], limit, {}) for size, limit in PRICES_NS.items()]


def bridged(tools):
    """Two hosts and the node on a Linux bridge, by libsharp_coll, and by two programs that do nothing else, in turns."""
    os.environ["SUMAC_BUILD"] = str(tools.build)  # harness reads it when it is imported
    from harness import bridge, ground  # pylint: disable=import-outside-toplevel

    house, ratios, ours, bare = bridge.House("hop-bridge", "h1", "h2"), {8: [], 128: []}, {8: [], 128: []}, {8: [], 128: []}
    places = [f"{house.bridge.network[name].path}={house.bridge.address[name]}" for name in ("node", "h1", "h2")]
    try:
        for _ in range(5):
            status, text = program([tools.program("hop-bare"), *places], 120)
            found = {int(size): float(us) for size, us in re.findall(r"(\d+) B: ([0-9.]+) us", text)}
            if status != 0 or ratios.keys() != found.keys():
                raise WayFailed(last_words(text))
            for size, us in found.items():
                bare[size].append(us)
                ours[size].append(bridged_job(house, ground, size))
                ratios[size].append(ours[size][-1] / us)
    finally:
        house.close()
        ground.sweep()
    return [(f"allreduce-{size}B-2h-bridge", "x two programs that do nothing else", median(all_of), 1.5, {"us": median(ours[size]), "bare_us": median(bare[size]), "all": all_of})
            for size, all_of in ratios.items()]


def bridged_job(house, ground, size):
    """Returns the median of a job of two ranks, in us."""
    job = house.steady_on("h1", "h2", STEADY_BUSY="1", STEADY_COUNT=str(size // 8))
    before = house.counts()["frames"]
    ground.until(lambda: house.counts()["frames"] > before + 100_000, "operations go by", 60)
    code, out, err = job.end()
    found = [float(us) for us in re.findall(r"half within ([0-9.]+) us", out)]
    if code != 0 or len(found) != 2:
        raise WayFailed(last_words(out + err))
    return sum(found) / 2


def proof(name, unit, *commands):
    """A row for programs that prove the machine: how many of them fail."""
    def rows(tools):
        failed = 0
        for words, seconds in commands:
            status, text = program([tools.program(words[0]), *words[1:]], seconds)
            print("\n".join(text.splitlines()[-5:]), flush=True)
            failed += status != 0
        return [(name, unit, failed, 0, {})]

    return rows


PROOFS = {
    "soft": proof("soft", "programs that found a sum unlike src/reduce's", (["hop-soft"], 1800)),
    "explore": proof("explore", "programs that found a fault, or a rule that nothing needs", (["sumac-explore-hop", "--large"], 1800), (["sumac-explore-hop", "--check"], 1800)),
    "seeds": proof("seeds", "campaigns that found a fault, or a guard that nothing needs", (["sumac-seeds", "--hop", "--count", "100000"], 3600)),
}
