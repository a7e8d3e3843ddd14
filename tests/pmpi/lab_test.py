#!/usr/bin/env python3
"""The interposed libraries on the hosts of a small emulated fabric, with two ranks on each: by the leaders' own MPI and by the tree. Right
results, nonblocking collectives that move while a rank waits elsewhere, a host without the library, and a rank that dies."""

import json
import os
import pathlib
import select
import subprocess
import tempfile
import unittest

import mpis
from mpis import case
from demolib.lab import Deadline, end

HERE = pathlib.Path(__file__).resolve().parent
MPI_PROGRAMS = mpis.ROOT / "tests" / "mpi"
HOSTS = ("h1", "h2", "h3", "h4")
lab = case.Lab("pmpi")

TREE = {
    "HCOLL_ENABLE_SHARP": "3",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "1024",
    "SHARP_COLL_JOB_QUOTA_OSTS": "128",
    "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "8",
}
MAY_USE_THE_TREE = {**TREE, "HCOLL_ENABLE_SHARP": "1", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "32"}
LEADERS = {"HCOLL_ENABLE_SHARP": "0"}
OWN_NETWORK = {**LEADERS, "SUMAC_ACROSS": "p2p", "SUMAC_PROGRESS_THREAD": "1"}
# MPICH 4.0.2 by itself gives wrong minima and maxima of MPI_Reduce_scatter, in one host too.
NOT_REDUCE_SCATTER = "barrier,allreduce,reduce,bcast,allgather,allgatherv,alltoall,alltoallv,reduce_scatter_block,gather,gatherv,scatter,scatterv,scan,exscan"


def device():
    """Returns the name of the network device, which is the same on all hosts of the lab."""
    return json.loads(lab("status", "--json").out)["device"]


def with_library(mpi, settings):
    """Returns the words in front of a program: its launcher must not load the library."""
    return ["env", f"LD_PRELOAD={mpi.library}", "SUMAC_TUNING_FILE=none", "SUMAC_TEAM_AFTER=0", *(f"{name}={value}" for name, value in settings.items())]


def openmpi_words(each):
    """Open MPI's component of ours stays out: words that name HCOLL's variables would load it in a lab."""
    hosts = ",".join(f"{host}:{each}" for host in HOSTS)
    return ["mpirun", "--host", hosts, *case.TCP, *case.YIELD, "--mca", "coll_hcoll_enable", "0", "--map-by", "node", "-n", str(each * len(HOSTS))]


def mpich_words(each):
    rsh = mpis.FOLDER / "lab-rsh"
    rsh.parent.mkdir(parents=True, exist_ok=True)
    rsh.write_text(f'#!/bin/sh\nexec "{case.SUMAC}" lab rsh "$@"\n', encoding="utf-8")
    rsh.chmod(0o755)
    settings = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": device(), "FI_PROVIDER": "tcp", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
                "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    exported = [word for name, value in settings.items() for word in ("-genv", name, value)]
    return ["exec", HOSTS[0], "--", "mpiexec.mpich", "-launcher", "rsh", "-launcher-exec", rsh, "-iface", device(), "-bind-to", "none",
            "-hosts", ",".join(HOSTS), *exported, "-n", str(each * len(HOSTS))]


def until(words, command, seconds):
    """Runs a program until it has printed `words` and the library its last line, and then ends it. Between hosts the ranks of MPICH 4.0.2 do
    not always come out of MPI_Finalize, also without Sumac."""
    process = case.processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    deadline, texts = Deadline(seconds), {process.stdout: b"", process.stderr: b""}
    reading = list(texts)
    try:
        while reading and not (words.encode() in texts[process.stdout] and b"\n" in texts[process.stderr].partition(b"sumac: ")[2]):
            ready = select.select(reading, [], [], deadline.left())[0]
            if not ready:
                raise AssertionError(f"hangs: {command} still ran after {seconds} s; it printed:\n{texts}")
            for pipe in ready:
                more = os.read(pipe.fileno(), 1 << 16)
                texts[pipe] += more
                if not more:
                    reading.remove(pipe)
        status = 0 if reading else process.wait(deadline.left())
    finally:
        end(process)
    return case.Finished(subprocess.CompletedProcess(command, status, *(text.decode(errors="replace") for text in texts.values())))


def run(mpi, program, *args, words=None, each=2, settings=None, seconds=120):
    """Runs a program with `each` ranks on every host; neighbours in MPI_COMM_WORLD are on different hosts. `words` end its output if all is right."""
    launcher = openmpi_words(each) if mpi is mpis.OPENMPI else mpich_words(each)
    command = [*launcher, *with_library(mpi, settings or {}), program, *args]
    if mpi is mpis.MPICH and words:
        return until(words, lab.command(*command), seconds)
    return lab(*command, seconds=seconds)


class BetweenHosts(case.OnLab):
    lab = lab

    def each(self):
        self.assertTrue(mpis.ALL, "no MPI is installed for which a library was built")
        for mpi in mpis.ALL:
            with self.subTest(mpi=mpi.name):
                yield mpi

    def right(self, words, mpi, program, *args, **more):
        """Runs a program that must end with these words; returns case.Finished."""
        done = run(mpi, program, *args, words=words, **more)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(words, done.out, done.text)
        return done

    def test_random_collectives_give_what_they_must_by_the_leaders_and_by_the_tree(self):
        """The MPI's own mistakes between hosts are left out: persistent collectives and MPI_Reduce_scatter of MPICH, and what --tame leaves out
        for Open MPI, whose nonblocking ones the next tests have."""
        for mpi in self.each():
            left_out = ["--not-alone", "--not-persistent", "--only", NOT_REDUCE_SCATTER] if mpi is mpis.MPICH else ["--tame"]
            # With one rank on each host the MPI would do all: by a network of ours the leaders do it.
            for settings, way, each in ((LEADERS, "leaders", 2), (MAY_USE_THE_TREE, "tree", 2), (OWN_NETWORK, "leaders", 1)):
                with self.subTest(way=way, own="SUMAC_ACROSS" in settings):
                    done = self.right(f"60 cases on {4 * each} ranks right", mpi, mpi.host_cases(), "--cases", "60", "--seed", "2", *left_out,
                                      settings=settings, each=each)
                    self.assertGreater(done.tally[way], 8, done.text)
                    self.assertNotIn("SUMAC_ACROSS", done.err)

    def test_requests_of_every_kind_may_be_mixed(self):
        """Without MPICH: its own MPI_Testall between hosts fails in this program, without Sumac too (4.0.2)."""
        mpi = mpis.OPENMPI
        if mpi not in mpis.ALL:
            case.skip_one_or_fail("Open MPI is not installed")
        done = self.right("mixed: 180 rounds right", mpi, mpi.compile("mixed", "mpicc", HERE / "mixed.c"), settings=TREE)
        # 180 sums and barriers, a barrier at the beginning and a sum at the end. The MPI does the persistent ones.
        self.assertIn("tree 362 (barrier 181, allreduce 181)", done.err, done.text)
        self.assertIn("persistent ones made by the MPI 2", done.err, done.text)

    def test_a_communicator_may_be_freed_under_what_the_tree_carries(self):
        for mpi in self.each():
            program = mpi.compile("early", "mpicc", MPI_PROGRAMS / "early.c", flags=["-Wno-stringop-overflow"])
            done = self.right("early: tree right on 8 ranks", mpi, program, "tree", settings=MAY_USE_THE_TREE)
            self.assertIn("tree 45 (barrier 25, allreduce 10, bcast 10)", done.err, done.text)

    def test_nonblocking_collectives_make_a_team_behind_them(self):
        """Of each communicator at the first call, or the third one (component/lab_test.py has all parts of that); with MPICH communicators are
        freed under pending collectives too."""
        for mpi in self.each():
            program = mpi.compile("behind", "mpicc", MPI_PROGRAMS / "behind.c", flags=["-Wno-stringop-overflow"])
            parts = ["together", "crossing", "kinds", "blocks", "frees", "away", "left"]
            if mpi is mpis.MPICH:
                parts[-1] = "pending"
            for after, some in (("0", parts), ("2", ["blocks", parts[-1]])):
                done = self.right(f"behind: {some[-1]} right on 4 ranks", mpi, "env", f"SUMAC_TEAM_AFTER={after}", program, *some, each=1,
                                  settings={**MAY_USE_THE_TREE, "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "64"})
                self.assertEqual(done.out.count("right on 4 ranks"), len(some), done.text)
                self.assertGreater(done.tally["tree"], 60, done.text)

    def test_a_rank_that_waits_in_another_call_delays_nobody_for_ever(self):
        for mpi in self.each():
            for thread in ("0", "1") if mpi is mpis.OPENMPI else ("0",):
                done = self.right("crossing: 12 rounds right", mpi, mpi.compile("crossing", "mpicc", HERE / "crossing.c"), "12",
                                  settings={**TREE, "SUMAC_PROGRESS_THREAD": thread})
                self.assertIn("tree 37 (barrier 13, allreduce 12, bcast 12)", done.err, done.text)
                self.assertIn("nonblocking over several hosts by the MPI 12", done.err, done.text)

    def test_a_rank_that_is_away_from_mpi_delays_nobody_for_ever(self):
        for mpi in self.each():
            # The header of MPICH 4.0 lets compilers take MPI_STATUSES_IGNORE for an array that is too short.
            program = mpi.compile("away", "mpicc", MPI_PROGRAMS / "away.c", flags=["-Wno-stringop-overflow", "-Wl,--no-as-needed", "-lm"])
            for part, each in (("tree", 2), ("busy", 1)) if mpi is mpis.OPENMPI else (("tree", 2),):
                with self.subTest(part=part), tempfile.TemporaryDirectory(dir=case.BUILD) as folder:
                    done = self.right(f"away: right on {4 * each} ranks\n", mpi, program, folder, part, each=each,
                                      settings={**TREE, "SUMAC_PROGRESS_THREAD": "1"})
                    self.assertEqual(done.tally["tree"], done.tally["all"], done.text)

    def test_a_rank_that_dies_ends_the_job(self):
        for mpi in self.each():
            done = run(mpi, mpi.compile("crossing", "mpicc", HERE / "crossing.c"), "12", "die", settings=TREE, seconds=60)
            self.assertNotEqual(done.code, 0, done.text)
            self.assertNotIn("rounds right", done.out, done.text)

    def test_an_error_that_ends_the_job_names_the_collective_that_the_program_called(self):
        for mpi in self.each():
            done = run(mpi, mpi.compile("disagree", "mpicc", MPI_PROGRAMS / "disagree.c"), "count", "fatal", settings=TREE, seconds=60)
            self.assertNotEqual(done.code, 0, done.text)
            self.assertRegex(done.err, r"an error occurred in MPI_Allreduce on communicator MPI_COMM_WORLD: allreduce failed: SHArP error.* rank \d \(host h\d\) differs from rank \d \(host h\d\) in count.*; "
                             r"MPI_ERRORS_ARE_FATAL ends the job", done.text)
            self.assertNotIn("Comm_call_errhandler", done.text)

    def test_a_host_without_the_library_ends_the_job_by_name(self):
        if mpis.OPENMPI not in mpis.ALL:
            case.skip_one_or_fail("Open MPI is not installed")
        program = mpis.OPENMPI.compile("first", "mpicc", HERE / "first.c")
        loaded = with_library(mpis.OPENMPI, TREE)
        parts = [word for host in HOSTS for word in (":", "-n", "1", "--host", host, *([] if host == "h3" else loaded), program)][1:]
        done = lab("mpirun", *case.TCP, *case.YIELD, "--mca", "coll_hcoll_enable", "0", *parts, seconds=60)
        self.assertNotEqual(done.code, 0, done.text)
        self.assertRegex(done.err, r"sumac: rank 2 on a host other than h1, h2, h4 did not answer within 6 s", done.text)


if __name__ == "__main__":
    case.main()
