"""Writes the page of published command lines from their table: prints it, or writes it to a file.

usage: tests/pasted/page.py [FILE]
"""

import pathlib
import sys

sys.dont_write_bytecode = True
import lines  # noqa: E402

HEAD = """# Command lines that published texts paste

People paste command lines from slides and pages about SHARP, HCOLL and XCCL. This page lists each of them as it stands there, and what becomes of it with Sumac. It is
made from `tests/pasted/lines.py`.

- *Replayed* lines run unchanged behind `sumac lab` on emulated hosts, which have the names, ports and numbers of ranks that the line wants: a fabric file in
  `tests/pasted` (or `lab/fabrics`) names them, and each host of the lab answers with that name. `make test` replays the lines with 8 ranks, `make pasted` also those with
  56, 64 and 144 ranks.
- `osu_barrier`, `osu_allreduce` and `IMB-MPI1` are one program of ours, the one behind `sumac bench` ([tools.md](tools.md)), which prints the columns of the real one, with few
  iterations, so that its calls can be counted. OSU's own programs are used where `SUMAC_OSU_SRC` names a source tree of theirs that is built. `make pasted` also runs Intel's `IMB-MPI1` (from PyPI's `impi-rt`, 129 MB) under MPICH.
- Log lines are compared with those of the slides, except for host numbers, processes, times, ids and addresses, which differ from run to run.

Log lines differ from the slides in three ways. A job that asks for no payload gets 1024 bytes for an operation, where the slides have 128. Where no group is left, one line says so with its
reason; the slides have a second one from the hardware's library (`unique id 0] WARN`). Where the tree of a group cannot win with large messages, Sumac adds a line with its advice.
"""


def cell(text):
    return text.replace("|", "\\|")


def text():
    parts = [HEAD]
    for source in dict.fromkeys(line.source for line in lines.LINES):
        parts += [f"\n## {source}\n", "\n| command line | under | what becomes of it |\n|---|---|---|\n"]
        for line in lines.LINES:
            if line.source != source:
                continue
            fate = line.fate if line.fate == lines.OUT else f"replayed by `make test`{', by its effect' if line.fate == lines.CONFIG else ''}"
            if line.fate == lines.LARGE:
                fate = "replayed by `make pasted`"
            if line.hosts:
                fate += f" on {line.hosts.split('/')[-1]}"
            parts.append(f"| `{cell(line.text)}` | {line.place} | {fate}{': ' + cell(line.note) if line.note else ''} |\n")
    return "".join(parts)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
