"""Reads tables of OSU's and Intel's collective benchmarks: real ones, those that published texts print, and those of sumac-bench. A Table says
which columns there are, in which order, how wide, and how each number is written; differences() compares two of them.

Published texts have lost their blanks, so of their tables only names, order and numbers count (`exact=False`)."""

import dataclasses
import re

OSU_COLUMNS = ("Size", "Latency (us)", "Bandwidth (MB/s)", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations", "Overall(us)", "Compute(us)", "Coll. Init(us)", "MPI_Test(us)",
               "MPI_Wait(us)", "Pure Comm.(us)", "Overlap(%)", "Validation")
IMB_COLUMNS = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]", "defects")
OSU_TITLE = re.compile(r"^(?:# ?)?OSU MPI (?P<kind>.+?)(?: Latency)? Test(?: v\S+)?$")
# A text that compares two libraries by OSU's numbers, such as `msglen HCOLL (SHARP) XCCL`.
COMPARED_TITLE = re.compile(r"^OSU (?P<kind>[A-Z][a-z]+)$")
IMB_TITLE = re.compile(r"^# Benchmarking (?P<kind>\S+)$")
IMB_MEMBERS = re.compile(r"^# #processes = \d+$")
IMB_WAITING = re.compile(r"^# \( *\d+ additional process(?:es)? waiting in MPI_B(?:arrier|ARRIER)\)$")
RULE = re.compile(r"^#-+$")
NUMBER = re.compile(r"\S+")
# Marks of pages around a table: rules and fences, as Markdown has them.
MARKS = re.compile(r"^[-|\s]*$|^```$")


@dataclasses.dataclass
class Table:
    family: str  # "osu", "compared" or "imb"
    kind: str  # "Allreduce", "Non-blocking Broadcast"; of Intel's the benchmark's name
    columns: list[str] = dataclasses.field(default_factory=list)
    ends: list[int] = dataclasses.field(default_factory=list)  # The head's columns end there; empty: the text lost its blanks.
    rows: list[list[str]] = dataclasses.field(default_factory=list)
    row_ends: list[list[int]] = dataclasses.field(default_factory=list)
    comments: list[str] = dataclasses.field(default_factory=list)  # further lines of the head, with N for each number

    @property
    def sizes(self):
        return [int(row[0]) for row in self.rows] if self.columns and self.columns[0] in ("Size", "#bytes", "msglen") else []


def columns_of(line, names):
    """Returns [(name, end)] if the line is a head of these columns, else []."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    found = [(match[0], match.end()) for match in re.finditer(pattern, line)]
    rest = re.sub(pattern, "", line).replace("#", "").strip()
    return found if found and not rest else []


def numbers_of(line, count, exact):
    """Returns [(text, end)] if the line is a row of so many columns, else []. A published row may end with a remark."""
    found = [(match[0], match.end()) for match in NUMBER.finditer(line)]
    if len(found) < count or (exact and len(found) != count):
        return []
    found = found[:count]
    return found if all(re.fullmatch(r"\d+(\.\d+)?|Pass|Fail", text) for text, _ in found) else []


def plain(line, exact):
    return line if exact else line.replace("|", " ").strip()


class Reader:
    def __init__(self, exact):
        self.exact, self.tables, self.table, self.is_head, self.before = exact, [], None, False, ""

    def begin(self, family, kind):
        self.table, self.is_head = Table(family, kind), True
        self.tables.append(self.table)

    def take(self, line):
        stripped, before = line.strip(), self.before
        self.before = stripped
        for family, pattern in (("osu", OSU_TITLE), ("imb", IMB_TITLE), ("compared", COMPARED_TITLE)):
            if match := pattern.match(stripped):
                self.begin(family, match["kind"])
                # Intel's programs draw a rule above the title too.
                self.table.comments += [before] if RULE.match(before) else []
                return
        if self.table is not None:
            self.take_head(line, stripped) if self.is_head else self.take_row(line, stripped)

    def take_head(self, line, stripped):
        names = OSU_COLUMNS if self.table.family == "osu" else IMB_COLUMNS
        columns = columns_of(line.replace("|", " "), names)
        if self.table.family == "compared" and stripped.startswith("msglen"):
            columns = [("msglen", 0), *((name, 0) for name in re.findall(r"\w+(?: \(\w+\))?", stripped)[1:])]
        if columns:
            self.table.columns = [name for name, _ in columns]
            self.table.ends = [end for _, end in columns] if self.exact else []
            self.is_head = False
        elif RULE.match(stripped) or IMB_MEMBERS.match(stripped) or IMB_WAITING.match(stripped) or stripped.startswith("# Overall = "):
            self.table.comments.append(re.sub(r"\d+", "N", IMB_WAITING.sub("# (waiting)", stripped)))
        elif self.exact and stripped:
            self.table.comments.append(f"unknown line of a head: {line}")
        elif not MARKS.match(stripped):
            self.table = None  # A text, not a table.

    def take_row(self, line, stripped):
        row = numbers_of(plain(line, self.exact), len(self.table.columns), self.exact)
        if row:
            self.table.rows.append([text for text, _ in row])
            self.table.row_ends.append([end for _, end in row])
        elif self.table.rows or not MARKS.match(stripped):
            if not (MARKS.match(stripped) and not self.exact):
                self.table = None


def read(text, exact=True):
    """Returns the tables of a text that have rows."""
    reader = Reader(exact)
    for line in text.splitlines():
        reader.take(line)
    return [table for table in reader.tables if table.rows]


def imb_preamble(text):
    """Returns the lines before Intel's first table, without what differs from run to run."""
    lines, is_command = [], False
    for line in text.split("# Benchmarking", 1)[0].splitlines():
        line = line.rstrip()
        if is_command and line.startswith("# "):
            line, is_command = "# COMMAND", False
        elif line.startswith("# Calling sequence was:"):
            is_command = True
        line = re.sub(r"^(# [^:]+:).*", r"\1", line)
        lines.append(re.sub(r"^# {4}.*MPI Benchmarks.*, (MPI-\w+ part)$", r"#    BANNER, \1", line))
    while lines and (not lines[-1] or RULE.match(lines[-1])):
        lines.pop()
    return lines


def number_form(text):
    """Returns "whole", "2 decimals" or "word"."""
    if not text[0].isdigit():
        return "word"
    return f"{len(text.split('.')[1])} decimals" if "." in text else "whole"


def own_faults(table):
    """Returns what is wrong with a table by itself: rows whose columns end elsewhere than the head's, or that change their form."""
    found = []
    forms = [[number_form(text) for text in row] for row in table.rows]
    for number, form in enumerate(forms):
        if form != forms[0]:
            found.append(f"row {number} writes its numbers as {form}, the first as {forms[0]}")
    for ends in table.row_ends if table.ends else []:
        # The first column is aligned to the left where it has the size.
        first = 1 if table.columns[0] == "Size" else 0
        if ends[first:] != table.ends[first:]:
            found.append(f"the columns of a row end at {ends}, those of the head at {table.ends}")
    return [f"{table.family} {table.kind}: {one}" for one in found]


def differences(real, ours):
    """Returns in which ways our table has another form than the real one."""
    found = []

    def same(what, theirs, own):
        if theirs != own:
            found.append(f"{real.family} {real.kind}: {what}: {theirs} in the real table, {own} in ours")

    same("kind", real.kind, ours.kind)
    same("columns", real.columns, ours.columns)
    if real.rows and ours.rows:
        same("numbers", [number_form(text) for text in real.rows[0]], [number_form(text) for text in ours.rows[0]])
    if real.ends and ours.ends:
        first = 1 if real.columns[0] == "Size" else 0
        same("ends of the columns", real.ends[first:], ours.ends[first:])
        same("lines of the head", real.comments, ours.comments)
    return found
