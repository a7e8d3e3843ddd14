#!/usr/bin/env python3
"""Small collectives as datagrams that the kernels of nodes answer, beside the same by TCP: `make hop`, as root.

Each fabric is emulated on this machine (`sumac lab`) with SUMAC_NODE_HOP=auto. A start of the program goes by datagrams, the next by TCP
(SUMAC_COLL_HOP=0); the ratio of neighbours counts. The nodes' processor time for many operations is read from their processes.
`rows.py` has what is no pair of ways."""

import argparse
import dataclasses
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from core import tally  # noqa: E402
from core.cases import chosen  # noqa: E402
from core.pairs import Pairs, median  # noqa: E402
from core.table import interval_text, markdown, number, write  # noqa: E402
from demolib.cases import FULL  # noqa: E402
from demolib.lab import Lab, LabError  # noqa: E402
from demolib.ways import NotBuilt, Tools, WayFailed, environment_flags, parse_results, run_mpi  # noqa: E402
from hop import rows  # noqa: E402
from hop.rights import without_rights  # noqa: E402

FABRICS = Path(__file__).resolve().parents[2] / "lab" / "fabrics"


@dataclasses.dataclass(frozen=True)
class Fabric:
    name: str
    hosts: int
    wire_ms: float  # links up and down x delay


F_500US, F_5MS, F_50US = Fabric("demo-16h-500us", 16, 2.0), Fabric("demo-16h-5ms", 16, 20.0), Fabric("hop-8h-50us", 8, 0.1)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    fabric: Fabric
    program: str
    collective: str
    bytes: int
    over_wire: float = 0.0  # at most so many times the wire's limit
    over_tcp: float = 0.0

    @property
    def text(self):
        return f"{self.collective}:{self.bytes}:400:200" if self.bytes else f"{self.collective}::400:200"


def cases_of(fabric, suffix, wire_library, wire_mpi, over_tcp):
    return [Case(f"{collective}-{size}B-{suffix}-{who}" if size else f"{collective}-{suffix}-{who}", fabric, program, collective, size, wire, over_tcp)
            for program, who, wire in (("sharp-client", "lib", wire_library), ("collbench", "mpi", wire_mpi))
            for collective, size in (("allreduce", 8), ("allreduce", 128), ("barrier", 0))]


CASES = [*cases_of(F_50US, "8h-50us", 0.0, 0.0, 0.65), *cases_of(F_500US, "16h-500us", 1.12, 1.16, 0.0), *cases_of(F_5MS, "16h-5ms", 1.03, 1.03, 0.0)]
NODE_COST, LOSS, IDLE, PEERS, KILLS, PRICE, BRIDGE, NO_RIGHTS = "node-cost", "loss", "idle-hop", "peers", "daemon-kills", "node-price", "2h-bridge", "without-rights"
IN_LAB = {NODE_COST: F_50US, LOSS: F_500US, IDLE: F_50US, PEERS: F_50US}
DAEMON_KILLS = 300  # There are three nodes.
RIGHTS_TURNS = 9
OPERATIONS = 100_000
LOSSY_CALLS = 100_000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def measure(lab, tools, cases, takes_datagrams):
    """One start of each program: {case: median ms}."""
    medians = {}
    for program in dict.fromkeys(case.program for case in cases):
        own = [case for case in cases if case.program == program]
        flags = tools.sumac_flags() if program == "collbench" else environment_flags()
        words = [word for case in own for word in ("--case", case.text)]
        out, err = run_mpi(lab, own[0].fabric.hosts, [*flags, "-x", f"SUMAC_COLL_HOP={int(takes_datagrams)}"], [tools.program(program), *words], 300)
        last_line = tally.read(err)
        if last_line is not None and (last_line.hop() > last_line.part("tree").count / 2) != takes_datagrams:
            raise WayFailed(f"it went another way: {last_line.text}")
        found = parse_results(out, program)
        for case in own:
            entry = found[case.collective, case.bytes]
            if entry["errors"]:
                raise WayFailed(f"{case.name}: wrong results")
            medians[case.name] = entry["median"]
    return medians


def node_seconds(lab):
    """Processor time of all sharp_an of this lab's holder."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "comm").read_text().strip() != "sharp_an" or lab.name not in (entry / "environ").read_text(errors="replace"):
                continue
            words = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(words[11]) + int(words[12])) * TICK_S
    return total


def node_cost(lab, tools):
    """The nodes' processor time of so many operations by datagrams and by TCP, less that of a job which is silent for as long: its start, its
    end and its heartbeats."""
    def seconds(takes_datagrams, *words):
        before, began = node_seconds(lab), time.monotonic()
        run_mpi(lab, F_50US.hosts, [*environment_flags(), "-x", f"SUMAC_COLL_HOP={int(takes_datagrams)}"], [tools.program(words[0]), *words[1:]], 300)
        return node_seconds(lab) - before, time.monotonic() - began

    def beyond_silence(takes_datagrams):
        used, wall = seconds(takes_datagrams, "sharp-client", "--case", f"allreduce:8:{OPERATIONS}:200")
        silent, _ = seconds(True, "hop-mixed", "--silences", str(max(1, round(wall))))
        return used - silent

    ours, tcp = beyond_silence(True), beyond_silence(False)
    # A process's time is counted in ticks.
    return [(NODE_COST, f"s of sharp_an for {OPERATIONS} operations", max(0.0, round(ours, 2)), 3 * TICK_S, {"tcp": round(tcp, 2)})]


def peers(lab, tools, turns):
    """By MPI, beside the fastest of Open MPI's algorithms, in turns."""
    cases = [case for case in CASES if case.fabric is F_50US and case.program == "collbench" and case.bytes in (0, 8)]
    words = [word for case in cases for word in ("--case", case.text)]
    ratios, fastest = {case.name: [] for case in cases}, {}
    for _ in range(turns):
        ours, theirs = measure(lab, tools, cases, True), {case.name: {} for case in cases}
        for tuned in (None, *FULL.tuned_small):
            out, _ = run_mpi(lab, F_50US.hosts, tuned.flags() if tuned else [], [tools.program("collbench"), *words], 300)
            found = parse_results(out, "collbench")
            for case in cases:
                if tuned is None or tuned.serves(case.collective):
                    theirs[case.name][tuned.peer(case.collective) if tuned else "Open MPI"] = found[case.collective, case.bytes]["median"]
        for name, times in theirs.items():
            fastest[name] = min(times, key=times.get)
            ratios[name].append(ours[name] / times[fastest[name]])
    return [(f"{name}-peers", f"x {fastest[name]}, the fastest of {len(FULL.tuned_small) + 1}", median(values), 0.4, {"all": values}) for name, values in ratios.items()]


class Table:
    """What has been measured so far."""

    def __init__(self):
        self.rows, self.others, self.entries, self.status = [], [], [], 0

    def add(self, case, ours, tcp, pairs):
        median_ours, wire = median(ours), case.fabric.wire_ms
        sumac, limit, unit = (median_ours / wire, case.over_wire, "x wire") if case.over_wire else (pairs.ratio, case.over_tcp, "x TCP")
        self.entries.append({"case": case.name, "unit": unit, "sumac": round(sumac, 4), "limit": limit or None, "ms": median_ours, "tcp_ms": median(tcp)})
        self.status |= bool(limit) and sumac > limit
        self.rows.append([case.name, number(wire), number(median_ours), number(median(tcp)), f"{pairs.ratio:.2f}", interval_text(pairs.interval),
                          f"{median_ours / wire:.2f}"])

    def add_rows(self, name, work):
        """Adds what work() returns: (case, unit, number, limit, more). What cannot be measured is a failure."""
        try:
            found = work()
        except (WayFailed, NotBuilt, LabError) as why:
            print(f"hop: {name}: {why}", file=sys.stderr)
            found = [(name, "rows that could not be measured", 1, 0, {"why": str(why)})]
        for case, unit, sumac, limit, more in found:
            self.entries.append({"case": case, "unit": unit, "sumac": round(sumac, 4), "limit": limit, **more})
            self.status |= sumac > limit
            self.others.append([case, f"{sumac:.4g}", f"{limit:.4g}", unit])
            print(f"{case}: {sumac:.4g} {unit}, at most {limit:.4g}", flush=True)


def measure_fabric(table, lab, tools, cases, turns):
    """Adds the cases to the table, also when Ctrl-C ends the last turn."""
    values, pairs = {case.name: ([], []) for case in cases}, {case.name: Pairs() for case in cases}
    try:
        for turn in range(turns):
            first = turn % 2 == 0
            got = {way: measure(lab, tools, cases, way) for way in (first, not first)}
            for case in cases:
                values[case.name][0].append(got[True][case.name])
                values[case.name][1].append(got[False][case.name])
                pairs[case.name].add(turn, got[True][case.name] / got[False][case.name])
            print(f"{cases[0].fabric.name} turn {turn + 1}: " + ", ".join(
                f"{case.name} {number(got[True][case.name])} and {number(got[False][case.name])} ms" for case in cases), flush=True)
    finally:
        for case in cases:
            if values[case.name][0]:
                table.add(case, *values[case.name], pairs[case.name])


def run(arguments, table):
    tools, names = Tools(arguments.build), set(chosen(arguments.case, [*(case.name for case in CASES), *IN_LAB, PRICE, BRIDGE, KILLS, NO_RIGHTS, *rows.PROOFS]))
    in_lab = {NODE_COST: node_cost, LOSS: lambda lab, tools: rows.loss(lab, tools, F_500US, LOSSY_CALLS), IDLE: lambda lab, tools: rows.idle(lab, tools, F_50US),
              PEERS: lambda lab, tools: peers(lab, tools, arguments.turns)}
    for fabric in (F_50US, F_500US, F_5MS):
        cases = [case for case in CASES if case.fabric is fabric and case.name in names]
        others = [name for name, where in IN_LAB.items() if where is fabric and name in names]
        if not cases and not others:
            continue
        os.environ["SUMAC_NODE_HOP"], os.environ["SUMAC_HOP_BENCH"] = "auto", f"hop-{os.getpid()}"
        with Lab(tools.program("sumac"), FABRICS / f"{fabric.name}.yaml", f"hop-{os.getpid()}", arguments.build / f"lab-{fabric.name}.log") as lab:
            for name in others:
                table.add_rows(name, lambda name=name, lab=lab: in_lab[name](lab, tools))
            if cases:
                measure_fabric(table, lab, tools, cases, arguments.turns)
    alone = {PRICE: rows.prices, BRIDGE: rows.bridged, KILLS: lambda tools: rows.daemon_kills(tools, DAEMON_KILLS),
             NO_RIGHTS: lambda tools: without_rights(tools, FABRICS / f"{F_50US.name}.yaml", F_50US.hosts, max(RIGHTS_TURNS, arguments.turns)), **rows.PROOFS}
    for name, work in alone.items():
        if name in names:
            table.add_rows(name, lambda work=work: work(tools))


def main():
    parser = argparse.ArgumentParser(prog="hop", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/hop.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--case", default="", help="these cases only: allreduce-8B*,node-cost")
    parser.add_argument("--turns", type=int, default=3, help="starts by each way (3)")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("hop: only root may load programs into the kernel")
    started, table, ended = time.monotonic(), Table(), ""
    try:
        run(arguments, table)
    except KeyboardInterrupt:
        table.status, ended = 130, " It was interrupted."
    lines = markdown(["case", "wire", "datagrams", "TCP", "ratio", "95 %", "x wire"], table.rows) if table.rows else []
    lines += ["", *markdown(["case", "Sumac", "limit", "unit"], table.others)] if table.others else []
    lines.append(f"ms; medians of up to {arguments.turns} starts each, in turns; {time.monotonic() - started:.0f} s in all. Every result was verified.{ended}")
    print("\n".join(lines))
    write(arguments.out, table.entries, lines)
    sys.exit(table.status)


if __name__ == "__main__":
    main()
