#!/usr/bin/env python3
"""Faults inside a host: invalid settings, files of other machines, full memory, no CMA, half a core, killed ranks. Each test asserts the
one line that reports the fault, that results are nevertheless right or the error is named, and that nothing is left in /dev/shm."""

import functools
import os
import pathlib
import shutil
import socket
import tempfile
import unittest

import common
from common import case, folders

CASES = ["--tame", "--cases", "40"]  # --tame: calls that pass through would meet Open MPI's own mistakes
SHM = pathlib.Path("/dev/shm")
# Open MPI has files of its own there; with plain TCP it needs none.
NO_VADER = ["--mca", "btl", "self,tcp"]


def in_namespace(script, *words, env=None, seconds=120):
    """Runs `sh -c script` in mount and user namespaces of its own; the words follow as its arguments."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    return case.start([*unshare, "sh", "-c", script, "sh", *words], env, seconds)


def namespaces_work():
    return shutil.which("unshare") and in_namespace("mount -t tmpfs -o size=1M tmpfs /dev/shm").code == 0


class BadInput(unittest.TestCase):
    def setUp(self):
        before = os.listdir(SHM)
        self.addCleanup(lambda: self.assertEqual(folders.left_in_dev_shm(before), set(), "left in /dev/shm"))

    def right(self, done, ranks, cases=40):
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"{cases} cases on {ranks} ranks right", done.out, done.text)

    def one_line(self, done, words):
        lines = [line for line in done.err.splitlines() if words in line]
        self.assertEqual(len(lines), 1, f"lines with: {words}\n{done.text}")


class Settings(BadInput):
    def test_lists_that_do_not_fit_and_unknown_words(self):
        legal = "expected basesmsocket (or basesmssocket), basesmuma, p2p, each at most once, in this order"
        rows = [
            ({"HCOLL_SBGP": "basesmsocket,basesmuma,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"},
             "HCOLL_BCOL=basesmuma,ucx_p2p: 2 words, but HCOLL_SBGP=basesmsocket,basesmuma,p2p has 3: expected one primitive for each level"),
            ({"HCOLL_SBGP": "basesmuna,p2p"}, f"HCOLL_SBGP=basesmuna,p2p: unknown word \"basesmuna\": {legal}"),
            ({"HCOLL_SBGP": "p2p,basesmuma"}, "\"basesmuma\" must not follow \"p2p\""),
            ({"HCOLL_SBGP": "basesmuma,p2p", "HCOLL_BCOL": "basesmuma,iboffload"}, "unknown word \"iboffload\": expected basesmuma, ucx_p2p (or mlx_p2p)"),
            ({"SUMAC_SHM_ALLREDUCE": "fast"}, "SUMAC_SHM_ALLREDUCE=fast: expected one of auto, "),
        ]
        for settings, words in rows:
            with self.subTest(settings):
                done = common.run(2, "host-cases", *CASES, env=settings)
                self.right(done, 2)
                self.one_line(done, words)
                self.assertIsNone(done.tally, f"we are off\n{done.text}")

    def test_a_mistyped_variable_is_told(self):
        done = common.run(2, "host-cases", *CASES, env={"HCOLL_SGBP": "p2p"})
        self.right(done, 2)
        self.one_line(done, "unknown variable HCOLL_SGBP: did you mean HCOLL_SBGP?")

    def test_a_machine_that_is_described_wrongly(self):
        for variable, value, words in (("HWLOC_SYNTHETIC", "package:two", "hwloc does not understand it: expected such as \"package:2 core:4 pu:1\""),
                                       ("HWLOC_XMLFILE", "/nowhere/machine.xml", "hwloc cannot read it: ")):
            with self.subTest(variable):
                done = common.run(2, "host-cases", *CASES, env={variable: value})
                self.right(done, 2)
                self.one_line(done, f"warning: {variable}={value}: {words}")
                self.one_line(done, "going on as if all ranks of this host were close to each other")
                self.assertGreater(done.tally["shared"], 0, done.text)

    def test_tuning_files(self):
        with tempfile.TemporaryDirectory(prefix="sumac-host-") as folder:
            path = pathlib.Path(folder) / "tuning.json"
            rows = [
                (None, "no such file: run `sumac tune`"),
                ("", "half-written, or not JSON: run `sumac tune` again"),
                (common.tuning_text("another machine")[:-40], "half-written, or not JSON: run `sumac tune` again"),
                ("[1, 2]", "not a tuning file: run `sumac tune` again"),
                (common.tuning_text("another machine").replace("flat", "flot"), "its checksum does not fit its content"),
                (common.tuning_text("another machine"), "measured on another machine (\"another machine\", this is "),
            ]
            for text, words in rows:
                with self.subTest(words):
                    path.unlink(missing_ok=True)
                    if text is not None:
                        path.write_text(text, encoding="utf-8")
                    done = common.run(2, "host-cases", *CASES, env={"SUMAC_TUNING_FILE": str(path)})
                    self.right(done, 2)
                    self.one_line(done, words)
                    self.one_line(done, "going on with the built-in choice")
                    self.assertGreater(done.tally["shared"], 0, done.text)


class Room(BadInput):
    """The job has a /dev/shm of its own, of a given size."""

    @classmethod
    def setUpClass(cls):
        if not namespaces_work():
            case.skip_one_or_fail("no mount namespaces here")

    def run_in(self, size, ranks, settings):
        words = [str(word) for word in common.command(ranks, "host-cases", *CASES, env=settings, mpirun=NO_VADER)]
        script = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && "$@"; code=$?; echo "left: $(ls -A /dev/shm)"; exit $code'
        done = in_namespace(script, *words, env={**settings, "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0"})
        self.right(done, ranks)
        self.assertIn("left: \n", done.out, done.text)
        return done

    def test_a_memfd_needs_no_room_there(self):
        done = self.run_in("32k", 3, {"SUMAC_SHM_BACKING": "auto"})
        self.assertGreater(done.tally["shared"], 0, done.text)
        self.assertNotIn("no shared memory", done.err)

    def test_one_mebibyte_is_enough_for_smaller_areas(self):
        done = self.run_in("1M", 4, {"SUMAC_SHM_BACKING": "devshm", "SUMAC_EXPLAIN": "1"})
        self.assertGreater(done.tally["shared"], 0, done.text)
        self.one_line(done, "/dev/shm is small, so large messages go in smaller pieces: enlarge it (docker --shm-size) or SUMAC_SHM_BACKING=memfd")
        self.assertRegex(done.err, r"(?m)^  /dev/shm of the host of rank 0 is small: areas of \d+ KiB instead of 1024 for large messages$", done.text)

    def test_no_room_at_all_passes_through_and_says_so(self):
        done = self.run_in("32k", 4, {"SUMAC_SHM_BACKING": "devshm", "SUMAC_EXPLAIN": "1"})
        self.assertEqual(done.tally["shared"], 0, done.text)
        # There is one line for the first communicator and the number of the others if they are asked for, and one line in any case.
        self.assertIn("no team: no shared memory: ", done.err, done.text)
        self.assertRegex(done.err, r"no team for \d+ more communicators?: no shared memory: ", done.text)
        self.assertRegex(done.err, r"no shared memory: .*/dev/shm has no \d+ KiB left: enlarge it .* or SUMAC_SHM_BACKING=memfd", done.text)


class Cma(BadInput):
    def test_forbidden_as_in_containers(self):
        if case.start([common.PROGRAMS / "no_cma", "/bin/true"]).code == 77:
            case.skip_one_or_fail("no seccomp here")
        for ranks in (2, 3):
            with self.subTest(ranks):
                done = self.run_cases(ranks, ["no_cma", common.PROGRAMS / "host-cases"])
                self.assertNotIn("\"single\" (", done.err, done.text)
                for coll in common.SINGLE_COPIED:
                    self.assertIn(f"{coll} by \"single\" refused", done.err, done.text)

    def test_what_is_allowed_is_not_refused(self):
        for ranks in (2, 3):
            with self.subTest(ranks):
                done = self.run_cases(ranks, ["host-cases"])
                # The system may allow it or not; but one of both must be reported, or the component never asked.
                refused = "by \"single\" refused" in done.err
                self.assertNotEqual(refused, "\"single\" (everybody reads everybody's memory)" in done.err, done.text)

    def run_cases(self, ranks, words):
        """The settings ask for single copy, so that the component tests whether the system allows it: by itself it does not for two ranks
        with cheap cache lines, nor for three."""
        settings = {**common.SINGLE_COPY, "SUMAC_EXPLAIN": "1"}
        done = common.run(ranks, *words, "--cases", "150", env=settings, mpirun=["--mca", "btl_vader_single_copy_mechanism", "none"])
        self.right(done, ranks, 150)
        self.assertGreater(done.tally["shared"], 0, done.text)
        return done


class HalfACore(BadInput):
    """The cgroup has half a processor: ranks outnumber the processors, and must not waste them by spinning."""

    def setUp(self):
        super().setUp()
        v1, v2 = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
        self.group = (v1 if (v1 / "cpu.cfs_quota_us").exists() else v2) / f"sumac-host-{os.getpid()}"
        try:
            self.group.mkdir()
        except OSError as why:
            case.skip_one_or_fail(f"no cgroup of our own: {why}")
        self.addCleanup(self.group.rmdir)
        try:
            if self.group.parent == v1:
                (self.group / "cpu.cfs_quota_us").write_text("50000", encoding="ascii")
            else:
                (self.group / "cpu.max").write_text("50000 100000", encoding="ascii")
        except OSError as why:
            case.skip_one_or_fail(f"cgroups without quotas: {why}")

    def test_results_are_right_and_ranks_yield(self):
        words = [str(word) for word in common.command(3, "host-cases", *CASES, env={"SUMAC_EXPLAIN": "1"})]
        done = case.start(["sh", "-c", f'echo $$ > {self.group}/cgroup.procs && exec "$@"', "sh", *words], {"SUMAC_EXPLAIN": "1", "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0"})
        self.right(done, 3)
        self.assertGreater(done.tally["shared"], 0, done.text)
        self.assertRegex(done.err, r"3 ranks here for 0\.5 processors", done.text)


class Deaths(BadInput):
    """One rank gets SIGKILL from a timer, in an arbitrary instruction of the collective."""

    COLLECTIVES = ["barrier", "allreduce", "reduce", "bcast", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter_block", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "reduce_scatter"]

    def die(self, collective, size, form, victim=1, ranks=3, settings=None):
        micros = 50_000 + 1000 * (len(collective) * 7 + size % 97)
        done = common.run(ranks, "death", collective, str(size), form, str(victim), str(micros), env=settings, mpirun=["--enable-recovery", *NO_VADER], seconds=90)
        survivors = [line for line in done.out.splitlines() if line.startswith("death: rank ")]
        self.assertEqual(len(survivors), ranks - 1, done.text)
        for line in survivors:
            self.assertRegex(line, rf"heard after \d\.\d+ s: {collective} failed: rank {victim} \(host {socket.gethostname()}, process \d+\) died.*every call fails", done.text)
        self.assertRegex(done.err, rf"{collective} failed: rank {victim} \(host {socket.gethostname()}, process \d+\) died", done.text)
        self.assertNotIn("WRONG", done.err)

    def test_small(self):
        case.side_by_side(self, {f"{form} {collective}": functools.partial(self.die, collective, 64, form)
                                 for collective in self.COLLECTIVES for form in ("blocking", "nonblocking", "persistent")})

    def test_large(self):
        case.side_by_side(self, {collective: functools.partial(self.die, collective, 1 << 20, ("blocking", "nonblocking", "persistent")[number % 3],
                                                               victim=0 if collective == "bcast" else 2)
                                 for number, collective in enumerate(self.COLLECTIVES[1:])})

    def test_with_a_file_in_dev_shm(self):
        self.die("reduce", 64, "blocking", victim=2, settings={"SUMAC_SHM_BACKING": "devshm"})


if __name__ == "__main__":
    common.skip_if_sanitized()
    case.main()
