"""A turn with a program that is a line of Python, at a place that starts it as it stands: what is filed, and what counts as failed."""

import dataclasses
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path

from core.pairs import median
from demolib import cases as C
from demolib.ways import NotBuilt, WayFailed

from .apps import App, SECONDS
from .cases import CASES, case_of
from .places import Host, Hosts, Start, exported, started
from .programs import Installed
from .turns import PLAIN, SUMAC, TUNED, Turn

PROFILE = """sumac: profile: 2 ranks on 1 host, 1.00 s from MPI_Init to MPI_Finalize
  in collectives: 1.00 s of all ranks together, 40.0 % of their time
  a rank: least 0.1 s, mean 0.1 s, most 0.1 s (rank 1 on vm)
"""


class Python:
    name = "python"

    def find(self, _folder):
        return [sys.executable]


@dataclasses.dataclass
class Here:
    """Starts a program without an MPI, and says in NUMBER and TOOK what it shall print."""

    name: str = "2r"
    ranks: int = 2
    fabric: C.Fabric = C.Fabric("this host", None, ())
    why = "a test"
    took: dict = dataclasses.field(default_factory=lambda: {PLAIN: 3.0, TUNED: 2.0, SUMAC: 1.5})
    number: dict = dataclasses.field(default_factory=dict)

    def run(self, _lab, _tools, start):
        column = SUMAC if start.sumac else TUNED if start.mca else PLAIN
        words = {"NUMBER": self.number.get(column, "7.5"), "TOOK": str(self.took[column]), **(start.variables or {})}
        return started(["env", *[f"{name}={value}" for name, value in words.items()], *start.argv], start)


SCRIPT = ("import os, sys; print('RESULT', os.environ['NUMBER']); print('SECONDS', os.environ['TOOK']); "
          f"sys.stderr.write('''{PROFILE}''' if 'SUMAC_PROFILE' in os.environ else '')")


def turn_at(place, folder, **more):
    return Turn(case_of(App("a", "a test", Python(), ("-c", SCRIPT), {"host": {}}, **more), place), Path(folder))


TOOLS = types.SimpleNamespace(build=Path("/nonesuch"))


class Turns(unittest.TestCase):
    def test_a_turn_has_a_number_of_each_column_and_their_ratios(self):
        with tempfile.TemporaryDirectory() as folder:
            turn = turn_at(Here(), folder)
            numbers = turn.run(None, TOOLS, 60)
            self.assertEqual(numbers, {("a-2r", PLAIN): 3.0, ("a-2r", TUNED): 2.0, ("a-2r", SUMAC): 1.5})
            self.assertEqual({column: median(ratios) for (_, column), ratios in turn.ratios.items()}, {PLAIN: 2.0, TUNED: 2.0 / 1.5})
            self.assertEqual((turn.share, turn.share_sumac, turn.failures), (0.4, 0.4, {}))

    def test_another_result_is_a_failure_and_no_number(self):
        with tempfile.TemporaryDirectory() as folder:
            turn = turn_at(Here(number={SUMAC: "7.6"}), folder)
            numbers = turn.run(None, TOOLS, 60)
            self.assertNotIn(("a-2r", SUMAC), numbers)
            self.assertIn("another result: 'RESULT 7.6', not 'RESULT 7.5'", turn.failures["a-2r", SUMAC])
            self.assertEqual(turn.ratios, {})

    def test_a_program_that_is_missing_leaves_its_case_out(self):
        with tempfile.TemporaryDirectory() as folder:
            turn = Turn(case_of(App("a", "a test", Installed("nonesuch"), (), {"host": {}}), Here()), Path(folder))
            with self.assertRaisesRegex(NotBuilt, "nonesuch is missing"):
                turn.run(None, TOOLS, 60)

    def test_a_program_that_ends_badly_or_never_is_a_failure_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "run").mkdir()
            for script, seconds, words in (("import sys; sys.exit('no such lattice')", 60, "ended with 1: no such lattice"),
                                           ("import signal; signal.pause()", 0.5, "not done after 0 s")):
                with self.assertRaisesRegex(WayFailed, words):
                    started([sys.executable, "-c", script], Start([], Path(folder) / "run", seconds))
                self.assertTrue((Path(folder) / "run.failed").exists())

    def test_commands(self):
        tools = types.SimpleNamespace(program=lambda name: Path("/b") / name, sumac_flags=lambda more: [f"{n}={v}" for n, v in more])
        lab = types.SimpleNamespace(mpirun_command=lambda words: ["lab", *map(str, words)])
        start = Start(["p"], Path("."), 1, ("--mca", "x", "1"), {"A": "b"}, True)
        host = Host("4r", 4).command(None, tools, start)
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        self.assertEqual(host[2:], ["/b/sumac", "run", "--local", "mpirun", *root, "--oversubscribe", "-np", "4", "--mca", "x", "1", *exported({"A": "b"})])
        place = next(case.place for case in CASES if case.place.name == "16h-500us")
        self.assertIsInstance(place, Hosts)
        command = place.command(lab, tools, start)
        self.assertEqual(command[:3], ["lab", "-n", "16"])
        self.assertIn("HCOLL_ENABLE_SHARP=1", command)
        self.assertNotIn("HCOLL_ENABLE_SHARP=1", place.command(lab, tools, dataclasses.replace(start, sumac=False)))

    def test_every_program_says_its_time(self):
        self.assertRegex("SECONDS 1.5", SECONDS)


if __name__ == "__main__":
    unittest.main()
