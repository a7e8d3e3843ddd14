"""Reads what programs and published texts print: log lines without what differs from run to run, columns of benchmark programs, command lines."""

import re

MASKS = (
    (re.compile(r"^\[[^\[\]:]+:0:\d+ - \w+\.c(?:pp)?:\d+\]"), "[HOST:0:PID - FILE:LINE]"),
    (re.compile(r"^\[[^\[\]:]+:0:\d+ unique id \d+\]"), "[HOST:0:PID unique id JOB]"),
    (re.compile(r"^\[[^\[\]:]+:\d+:\d+\]\[\w+\.c(?:pp)?:\d+:\w+\]"), "[HOST:PID:RANK][FILE:LINE:FUNCTION]"),
    (re.compile(r"job \(ID: \d+\)"), "job (ID: JOB)"),
    (re.compile(r"group id: [0-9a-f]+"), "group id: GROUP"),
    (re.compile(r"interface id: 0x[0-9a-f]*[1-9a-f][0-9a-f]*"), "interface id: ADDRESS"),
    (re.compile(r"mlid:c[0-9a-f]+"), "mlid:ADDRESS"),
    # Sumac's lines go on with the reason, where the published ones end.
    (re.compile(r"(No available groups\(-11\)): .*"), r"\1"),
)
# Advice that only Sumac gives.
ADVICE = re.compile(r"INFO group \d+: large messages lose in its tree: ")


def log_lines(text):
    """Returns the log lines of a text, each once, without Sumac's advice."""
    lines = set()
    for line in text.splitlines():
        for pattern, word in MASKS:
            line = pattern.sub(word, line)
        if line.startswith("[HOST:") and not ADVICE.search(line):
            lines.add(line)
    return lines


def sizes(text):
    """Returns the first column of osu_allreduce's table."""
    table = re.search(r"^# OSU MPI Allreduce Latency Test.*\n# Size +Avg Latency\(us\).*\n((?:\d+(?: +[\d.]+)+ *\n)+)", text, re.MULTILINE)
    return tuple(int(row.split()[0]) for row in table[1].splitlines()) if table else ()


def barrier_time(text):
    """Returns what osu_barrier measured; None if the text is no such table."""
    table = re.search(r"^# OSU MPI Barrier Latency Test.*\n# Avg Latency\(us\).*\n +([\d.]+)", text, re.MULTILINE)
    return float(table[1]) if table else None


def imb_processes(text):
    """Returns for each table of IMB-MPI1's Barrier how many processes took part, and how many waited."""
    found = re.findall(r"^# Benchmarking Barrier *\n# #processes = (\d+) *\n(?:# \( *(\d+) additional processes waiting in MPI_Barrier\) *\n)?#-+ *\n"
                       r" *#repetitions +t_min\[usec\] +t_max\[usec\] +t_avg\[usec\] *\n *\d+(?: +[\d.]+){3}", text, re.MULTILINE)
    return [(int(members), int(waiting or 0)) for members, waiting in found]


def plain(text):
    """Returns a text as it is compared with a command line: without the marks of the page and with single blanks."""
    text = re.sub(r"[`*\\]", "", text.replace("ﬁ", "fi"))
    return " ".join(text.split())


def program_starts(text):
    """Returns how often a text starts a program by mpirun."""
    return len(re.findall(r"\bmpirun (?=[-–.])", plain(text)))
