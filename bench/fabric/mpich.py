"""MPICH as a peer: collbench compiled by its wrapper, started by its own launcher over the lab's hosts. It has no way of giving the
core away that helps with more ranks than cores: reported, never the reference."""

import os
import subprocess

from demolib import cases as C
from demolib.compiling import Absent, compile_once, first_of
from demolib.lab import Deadline, end, last_words, start as start_process, wait_readable
from demolib.ways import NotBuilt, WayFailed, parse_results, take

SOURCES = ["bench/collbench.c", "bench/driver.c", "bench/measure.c", "bench/pattern.c"]
HEADERS = ["bench/driver.h", "bench/measure.h", "bench/pattern.h"]


def whole_lines(out):
    """What a program has written so far, but for the line that it is still at."""
    return out[:out.rfind(b"\n") + 1].decode(errors="replace")


class Mpich:
    def __init__(self, cases, form):
        self.column, self.form, self.runs = C.MPICH, form, 1
        # A call of 16 spinning ranks on few cores takes many times what it would.
        self.cases = [type(case)(**{**case.__dict__, "iterations": (3, 1)}) for case in cases]

    def run(self, lab, tools, seconds):
        try:
            launcher = first_of("mpiexec.mpich")
            program = compile_once("collbench-mpich", first_of("mpicc.mpich"), SOURCES, HEADERS, tools.build / "fabric")
        except Absent as missing:
            raise NotBuilt(str(missing)) from missing
        rsh = tools.build / "fabric" / "lab-rsh"
        rsh.write_text(f'#!/bin/sh\nexec "{tools.program("sumac")}" lab rsh "$@"\n')
        rsh.chmod(0o755)
        hosts = [host for _, below in self.cases[0].fabric.leaves for host in below]
        device = lab.status()["device"]
        texts = [word for case in self.cases for word in ("--case", C.program_case(case, self.form))]
        argv = [launcher, "-launcher", "rsh", "-launcher-exec", rsh, "-iface", device, "-bind-to", "none", "-hosts", ",".join(hosts),
                "-n", len(hosts), "-genv", "UCX_TLS", "tcp", "-genv", "UCX_NET_DEVICES", device, "-genv", "FI_PROVIDER", "tcp",
                "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", "1", program, *texts]
        numbers = take(parse_results(self.output(lab.exec_command(hosts[0], argv), seconds), "collbench"), self.cases)
        return {(name, self.column): value for name, value in numbers.items()}

    def output(self, command, seconds):
        """What it printed. From 8 hosts on its ranks do not come out of MPI_Finalize here (MPICH 4.0.2 over UCX's tcp, more ranks than
        cores): when all results are there, it is ended."""
        process = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, cwd=os.sep)
        deadline, out = Deadline(seconds), b""
        try:
            while len(parse_results(whole_lines(out), "collbench")) < len(self.cases):
                if not wait_readable(process.stdout, deadline.left()):
                    raise WayFailed(f"not done after {seconds:.0f} s")
                more = os.read(process.stdout.fileno(), 1 << 16)
                if not more:
                    raise WayFailed(last_words(process.stderr.read().decode(errors="replace")))
                out += more
            return whole_lines(out)
        finally:
            end(process)
