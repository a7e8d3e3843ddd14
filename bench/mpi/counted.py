"""The cases `profile` and `oshmem`: programs that know how often they call a collective, and what Sumac counted.

`profile` passes if SUMAC_PROFILE has the program's own calls and bytes and its traces load by the schema (demolib/profile.py), with the component of
Open MPI 4.1 and with the interposed library under every MPI. `oshmem` passes if an oshrun program's barrier_all, sum_to_all and broadcast are
counted in the last line (tests/component/shmem_test.py)."""

import os
import subprocess
import sys
import tempfile

from core import table as T
from core import verdict as V
from demolib import profile
from demolib.compiling import SOURCE, Absent, compile_once

from . import mpis, plan as P

PROFILE, OSHMEM = "profile", "oshmem"
RANKS = (2, 3)
LIMIT_S = 120
FULL = ("1", "0", "full")  # Open MPI ends calls without data before a component hears of them.
COMPONENT = "component"


def cases():
    return [PROFILE, OSHMEM]


def component_tests(build):
    """Returns tests/harness/case.py and tests/component/shmem_test.py, for this build."""
    os.environ["SUMAC_BUILD"] = str(build.resolve())
    if str(SOURCE / "tests" / "component") not in sys.path:
        sys.path += [str(SOURCE / "tests"), str(SOURCE / "tests" / "component")]
    from harness import case  # pylint: disable=import-outside-toplevel
    import shmem_test  # pylint: disable=import-outside-toplevel
    return case, shmem_test


def run(argv, environment):
    """Returns (exit status, stdout, stderr) of a program; a program that hangs has the exit status None."""
    try:
        done = subprocess.run([str(word) for word in argv], env=environment, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, "", f"hangs, still there after {LIMIT_S} s"
    return done.returncode, done.stdout, done.stderr


class Counted:
    def __init__(self, found, build, folder):
        self.found, self.build, self.folder = found, build, folder

    def case(self, name):
        """Runs a case; returns its entry."""
        wrong, count = [], 0
        try:
            for what, found in {PROFILE: self.profiles, OSHMEM: self.oshmem}[name]():
                count += 1
                wrong += [f"{what}: {one}" for one in found]
                print(f"{name}: {what}: {found[0] if found else 'right'}", flush=True)
        except Absent as why:
            return entry(name, wrong, count, V.OPEN, str(why))
        return entry(name, wrong, count, *judged(wrong, count))

    def profiles(self):
        """Yields (run, what is wrong with it)."""
        for found in self.found.values():
            program = compile_once(f"counted-{found.key}", found.mpi.compiler, ["tests/mpi/counted.c"], [], self.folder / "programs", ["-O1"], ())
            for ranks in RANKS:
                yield f"{P.LABELS[found.name]}, {ranks} ranks", self.one_profile(found, ranks, [program], {"LD_PRELOAD": mpis.library(found.name, self.build)}, [])
                if found.name == P.OPENMPI4:
                    flags = component_tests(self.build)[0].component_flags()
                    yield f"{COMPONENT}, {ranks} ranks", self.one_profile(found, ranks, [program, *FULL], {}, flags)

    def one_profile(self, found, ranks, words, settings, flags):
        with tempfile.TemporaryDirectory(dir=self.folder) as traces:
            argv, environment = found.start(ranks, {"yield": True}, {**settings, "SUMAC_PROFILE": "2", "SUMAC_TRACE": traces})
            code, out, err = run([argv[0], *flags, *argv[1:], *words], environment)
            if code != 0:
                return [f"exit status {code}: {err[-300:].strip()}"]
            return profile.compare(out, err, traces, ranks)

    def oshmem(self):
        case, shmem_test = component_tests(self.build)
        if why := shmem_test.missing():
            raise Absent(why)
        for pes in (2, 3):
            try:
                counts = shmem_test.counts("shared memory", pes, [case.SUMAC, "run"])
                wrong = [f"{kind}: {counts.get(kind, 0)} of {shmem_test.ROUNDS} calls counted" for kind in shmem_test.KINDS
                         if counts.get(kind, 0) != shmem_test.ROUNDS]
            except AssertionError as failed:
                wrong = [str(failed)[-300:]]
            yield f"{pes} PEs", wrong


def judged(wrong, count):
    if wrong:
        return V.FAIL, f"{len(wrong)} differences: {wrong[0]}"
    return (V.PASS, f"{count} runs") if count else (V.OPEN, "nothing ran")


def entry(name, wrong, count, word, why):
    must = {PROFILE: "the program's own count", OSHMEM: "three operations counted"}[name]
    return T.entry(name, "failures", len(wrong) if count else None, {P.LABELS[P.OPENMPI4]: None}, None, None, **V.keys(word, why, must), runs=count,
                   wrong=wrong, failures={})
