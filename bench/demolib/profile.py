"""Reads what SUMAC_PROFILE and SUMAC_TRACE give (src/rank/profile_table.c, trace.c), and compares it with what a program counted.

A program counts for itself and prints "counted: RANK FUNCTION CALLS BYTES" lines (tests/mpi/counted.c)."""

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path

from . import schema

HEAD = re.compile(r"^sumac: profile: (?P<ranks>\d+) ranks on (?P<hosts>\d+) hosts?, (?P<wall>[\d.]+ \w+) from MPI_Init to MPI_Finalize$", re.M)
TOTAL = re.compile(r"^  in collectives: [\d.]+ \w+ of all ranks together, (?P<share>[\d.]+) % of their time$", re.M)
RANKS = re.compile(r"^  a rank: least [\d.]+ \w+, mean [\d.]+ \w+, most [\d.]+ \w+ \(rank (?P<slowest>\d+) on (?P<host>\S+)\)$", re.M)
NUMBERS = r" +(?P<calls>\d+) +(?P<bytes>[\d.]+) (?P<unit>\w+) +(?P<time>[\d.]+ \w+) +(?P<share>[\d.]+) % +[\d.]+ \w+"
ROW = re.compile(rf"^  (?P<name>[a-z_]+) +(?P<size>0 B|(?:<=|>) \d+ \w+) +(?P<way>[A-Za-z ]+?){NUMBERS}   (?P<rank>\d+) on (?P<host>\S+): [\d.]+ \w+$", re.M)
ALL = re.compile(rf"^  all{NUMBERS}$", re.M)
COUNTED = re.compile(r"^counted: (?P<rank>\d+) (?P<name>\w+) (?P<calls>\d+) (?P<bytes>\d+)$", re.M)
MICROSECONDS = {"ns": 0.001, "us": 1.0, "ms": 1000.0, "s": 1000000.0}
SIZES = ("<= 64 B", "<= 512 B", "<= 4 KiB", "<= 32 KiB", "<= 256 KiB", "<= 2 MiB", "<= 16 MiB")
SCHEMA = Path(__file__).with_name("trace.schema.json")


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    size: str
    way: str
    calls: int
    bytes: int  # exact with SUMAC_PROFILE=2 alone
    us: float  # It has three digits.
    share: float
    slowest: int


@dataclasses.dataclass(frozen=True)
class Profile:
    ranks: int
    hosts: int
    share: float  # This is a part of the ranks' time, in percent.
    slowest: int
    rows: list
    calls: int  # The last row has them.

    def calls_and_bytes(self):
        """Returns {collective: (calls, bytes)}."""
        sums = {}
        for row in self.rows:
            calls, size = sums.get(row.name, (0, 0))
            sums[row.name] = (calls + row.calls, size + row.bytes)
        return sums


def read(text):
    """Returns the Profile in a job's stderr; None if there is none. Raises ValueError for one of another form, and for two."""
    heads = list(HEAD.finditer(text))
    if not heads:
        return None
    total, ranks, every = TOTAL.search(text), RANKS.search(text), ALL.search(text)
    if len(heads) > 1 or not total or not ranks:
        raise ValueError(f"{len(heads)} profiles, or one of another form:\n{text}")
    rows = [Row(one["name"], one["size"], one["way"], int(one["calls"]), int(float(one["bytes"])) if one["unit"] == "B" else -1,
                microseconds(one["time"]), float(one["share"]), int(one["rank"])) for one in ROW.finditer(text)]
    return Profile(int(heads[0]["ranks"]), int(heads[0]["hosts"]), float(total["share"]), int(ranks["slowest"]), rows,
                   int(every["calls"]) if every else 0)


def microseconds(text):
    number, unit = text.split()
    return float(number) * MICROSECONDS[unit]


def size_class(size):
    """Returns the text of a call's class."""
    if size == 0:
        return "0 B"
    return next((text for at, text in enumerate(SIZES) if size <= 64 * 8 ** at), "> 16 MiB")


def counted(text):
    """Returns {rank: {collective: (calls, bytes)}}, as the program counted them."""
    ranks = {}
    for one in COUNTED.finditer(text):
        ranks.setdefault(int(one["rank"]), {})[one["name"].lower()] = (int(one["calls"]), int(one["bytes"]))
    return ranks


def summed(ranks):
    """Returns {collective: (calls, bytes)} of all ranks."""
    sums = {}
    for one in ranks.values():
        for name, (calls, size) in one.items():
            before = sums.get(name, (0, 0))
            sums[name] = (before[0] + calls, before[1] + size)
    return sums


def load_trace(path):
    """Returns the file's JSON; raises ValueError if it is not what the schema says, or if calls of a thread overlap or come unsorted."""
    file = json.loads(Path(path).read_text(encoding="utf-8"))
    schema.check(file, json.loads(SCHEMA.read_text(encoding="utf-8")))
    ends, last = {}, float("-inf")
    for event in calls_of(file):
        if event["ts"] < last:
            raise ValueError(f"{path}: {event} begins before the event in front of it, at {last}")
        last = event["ts"]
        if event["ts"] < ends.get(event["tid"], float("-inf")) - 0.0015:  # both are rounded to a nanosecond
            raise ValueError(f"{path}: {event} begins inside another call of its thread, which ends at {ends[event['tid']]}")
        ends[event["tid"]] = event["ts"] + event["dur"]
    if len(calls_of(file)) != file["otherData"]["events"]:
        raise ValueError(f"{path}: {len(calls_of(file))} events instead of {file['otherData']['events']}")
    return file


def calls_of(file):
    return [event for event in file["traceEvents"] if event["ph"] == "X"]


def calls_and_bytes(file):
    """Returns {collective: (calls, bytes)} of a trace."""
    calls, size = Counter(), Counter()
    for event in calls_of(file):
        calls[event["name"]] += 1
        size[event["name"]] += event["args"]["bytes"]
    return {name: (calls[name], size[name]) for name in calls}


def differences(own, found, where):
    """Returns a sentence for each collective of which Sumac counted something else than the program."""
    return [f"{where}: {name}: the program made {own.get(name, (0, 0))} calls and bytes, Sumac counted {found.get(name, (0, 0))}"
            for name in sorted({*own, *found}) if own.get(name) != found.get(name)]


def wrong_times(profile, files):
    """Returns a sentence for each row whose time is not that of the traces, or whose slowest rank is not slowest there."""
    times = {}
    for rank, file in enumerate(files):
        for event in calls_of(file):
            key = (event["name"], size_class(event["args"]["bytes"]), event["args"]["way"])
            times.setdefault(key, [0.0] * len(files))[rank] += event["dur"]
    wrong = []
    for row in profile.rows:
        ranks = times.get((row.name, row.size, row.way), [0.0])
        if abs(sum(ranks) - row.us) > 0.006 * row.us + 0.001 or ranks[row.slowest] < max(ranks) - 0.001:
            wrong.append(f"profile: {row}: the traces of the ranks have {ranks} us")
    return wrong


def compare(out, err, folder, ranks):
    """Compares profile and traces of a job with SUMAC_PROFILE=2 and SUMAC_TRACE=folder; returns what is wrong, a list of sentences."""
    own = counted(out)
    if len(own) != ranks:
        return [f"{len(own)} of {ranks} ranks printed what they counted"]
    try:
        profile = read(err)
        if profile is None:
            return ["no profile was printed"]
        wrong = differences(summed(own), profile.calls_and_bytes(), "profile")
        if profile.calls != sum(calls for calls, _ in summed(own).values()):
            wrong.append(f"profile: its last row has {profile.calls} calls")
        files = [load_trace(Path(folder) / f"sumac-trace-{rank}.json") for rank in range(ranks)]
        for rank, file in enumerate(files):
            wrong += differences(own[rank], calls_and_bytes(file), f"trace of rank {rank}")
        wrong += wrong_times(profile, files)
    except (OSError, ValueError) as why:
        return [str(why)]
    return wrong
