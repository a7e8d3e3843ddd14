"""Overlap between hosts: bench-host's program (bench/host/cell.c has its definition) with one rank on each host of a lab. A rank posts, is
away from MPI for as long as the operation takes by itself, and waits; the result is the share of the operation that was over by then."""

import json
import tempfile
from pathlib import Path

from demolib.compiling import Absent, first_of
from demolib.ways import NotBuilt, WayFailed, run_mpi
from host import plan as host_plan
from host import programs

# A switch that is late delays the frames of the operation and not the time away: beyond this share of a link's delay a run is void. On four
# links of 500 us that is 0.4 ms of an operation that takes 20 ms. It was 25 to 35 us late where others used the machine (2026-11-24).
LATE_MAX = 0.2


class Lateness:
    """How late the lab's switch sent its frames since this was made, in us on average."""

    def __init__(self, lab):
        self.lab, self.before = lab, self.sums(lab)

    @staticmethod
    def sums(lab):
        switch = lab.status()["switch"]
        return switch["frames"], switch["frames"] * switch["late_us_mean"]

    def mean_us(self):
        frames, late = (now - then for now, then in zip(self.sums(self.lab), self.before))
        return late / frames if frames else 0.0


class Overlap:
    """hostbench over the hosts of a lab, one start for all cases of a fabric. Ranks and launcher share files of this machine."""

    def __init__(self, column, cases, flags, runs=None):
        self.column, self.cases, self.flags = column, cases, flags
        self.guess_s, self.void = 20.0, None
        if runs is not None:
            self.runs = runs

    def run(self, lab, tools, seconds):
        flags, ranks, delay_us = self.flags(tools), self.cases[0].fabric.hosts, self.cases[0].link_delay_us
        try:
            program = programs.compile_for(host_plan.OMPI4, first_of("mpicc.openmpi", "mpicc"), "bench/host/world_mpi.c",
                                           tools.build / "fabric")
        except Absent as missing:
            raise NotBuilt(str(missing)) from missing
        lateness = Lateness(lab)
        with tempfile.TemporaryDirectory(dir=tools.build / "fabric") as place:
            area, commands, replies = (Path(place) / name for name in ("area", "commands", "replies"))
            area.touch()
            commands.write_text("".join(f"{case.collective} {case.size} {case.iterations[0]} {case.iterations[1]}\n" for case in self.cases))
            run_mpi(lab, ranks, flags, [program, "--ranks", ranks, "--area", area, "--commands", commands, "--replies", replies], seconds)
            answers = [json.loads(line) for line in replies.read_text().splitlines()][1:]  # The first one says that it is ready.
        late_us = lateness.mean_us()
        self.notes = {(case.name, self.column): f"{answer['pure_ns'] / 1e6:.2f} ms by itself, away for {answer['slept_ns'] / 1e6:.2f} ms; the "
                                                f"switch was {late_us:.0f} us late"
                      for case, answer in zip(self.cases, answers) if "pure_ns" in answer}
        self.void = f"the switch sent frames {late_us:.0f} us late on average" if late_us > LATE_MAX * delay_us else None
        return {(case.name, self.column): share for case, share in zip(self.cases, shares(self.cases, answers), strict=True)}


def shares(cases, answers):
    """Returns the percentage of each case; raises WayFailed if one has none."""
    for case, answer in zip(cases, answers):
        if "refused" in answer:
            raise WayFailed(f"{case.name}: {answer['refused']}")
        if answer["errors"]:
            raise WayFailed(f"{answer['errors']} of {answer['verified']} results of {case.name} were wrong")
    if len(answers) != len(cases):
        raise WayFailed(f"{len(answers)} answers for {len(cases)} cases")
    return [answer["overlap"] for answer in answers]
