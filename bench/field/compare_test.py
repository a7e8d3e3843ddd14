"""`sumac bench --compare` with few sizes and pairs: the form of table, JSON and plot, and how it ends; speed is nobody's business here.
usage: compare_test.py BUILD"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SUMAC = BUILD / "bin" / "sumac"
ROW = re.compile(r"^(\d+K?) +(\d+\.\d\d) +(\d+\.\d\d) +(\d+\.\d{3}) +(\d+\.\d{3})\.\.(\d+\.\d{3})$", re.MULTILINE)
# One program in front of all python3 of the PATH: a python3 of its own, in which nobody installed matplotlib.
HIDE = "import sys\nsys.modules['matplotlib'] = None\n"


def has_matplotlib():
    return subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0


def environment(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "SUMAC_", "HCOLL_"))}
    return {**kept, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}


class Compare(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="sumac-compare-")
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def compare(self, *words, **variables):
        return subprocess.run([SUMAC, "bench", "--compare", "-n", "2", "--pairs", "2", *words], cwd=self.folder, env=environment(**variables),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

    def check_plot(self, name):
        png, svg = (self.folder / f"{name}.{kind}" for kind in ("png", "svg"))
        self.assertEqual(png.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(png.stat().st_size, 10_000)
        self.assertTrue(ElementTree.parse(svg).getroot().tag.endswith("svg"))

    def test_table_json_and_plot(self):
        # The plot's own name comes without the folder.
        done = self.compare("./sub/osu_allreduce", "-m", "8:16", "-i", "20", "-x", "5", "-c", "--json", "numbers.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = ROW.findall(done.stdout)
        self.assertEqual([row[0] for row in rows], ["8", "16"], done.stdout)
        for _, sumac, mpi, ratio, low, high in rows:
            self.assertGreater(min(float(sumac), float(mpi)), 0)
            self.assertTrue(float(low) <= float(ratio) <= float(high), done.stdout)
        self.assertIn("sumac: collectives: shared memory", done.stdout)
        numbers = json.loads((self.folder / "numbers.json").read_text())
        self.assertEqual([(row["benchmark"], row["ranks"], row["bytes"], row["unit"]) for row in numbers["rows"]], [("allreduce", 2, 8, "us"), ("allreduce", 2, 16, "us")])
        self.assertEqual([(run["pair"], run["first"]) for run in numbers["runs"]], [(0, "mpi"), (1, "sumac")])
        for row in numbers["rows"]:
            self.assertEqual({side: len(values) for side, values in row["runs"].items()}, {"sumac": 2, "mpi": 2})
        for run in numbers["runs"]:
            for side in ("sumac", "mpi"):
                self.assertEqual([(row["bytes"], row["iterations"], row["checked"], row["errors"]) for row in run[side]], [(8, 20, True, 0), (16, 20, True, 0)])
        self.assertIn("SUMAC_ENABLE=0", " ".join(numbers["commands"]["mpi"]))
        if has_matplotlib():
            self.check_plot("osu_allreduce")

    def test_nonblocking_and_several_tables(self):
        done = self.compare("IMB-NBC", "Ibcast", "Ibarrier", "-iter", "20", "-msglog", "3:3", "--plot", "two")
        if not has_matplotlib():
            self.assertEqual(done.returncode, 2)
            self.assertIn("apt install python3-matplotlib", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^# ibcast, 2 ranks: the communication alone")
        self.assertRegex(done.stdout, r"(?m)^# ibarrier, 2 ranks.*\n.*Overlap\(%\).*\n- +\d")
        self.check_plot("two-ibcast-2ranks")
        self.check_plot("two-ibarrier-2ranks")

    def test_in_a_lab_that_goes_again(self):
        fabric = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"
        command = [SUMAC, "bench", "--lab", fabric, "osu_allreduce", "-m", "8:16", "-i", "5", "-x", "1", "-c"]
        with subprocess.Popen(command, cwd=self.folder, env=environment(SUMAC_LAST_LINE="1"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            out, err = process.communicate(timeout=120)
        if "namespaces" in err and "CI" not in os.environ:
            self.skipTest(err.strip())
        self.assertEqual(process.returncode, 0, err)
        self.assertRegex(out, r"(?m)^8 +\d+\.\d\d +Pass\n16 +\d+\.\d\d +Pass$")
        self.assertRegex(err, r"sumac: job \d+: tree \d+")
        done = subprocess.run([SUMAC, "lab", "status", "--name", f"bench-{process.pid}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_more_ranks_than_a_lab_has_slots(self):
        fabric = pathlib.Path(__file__).resolve().parents[2] / "lab" / "fabrics" / "test-4h.yaml"
        done = self.compare("-n", "8", "--lab", fabric, "osu_barrier")
        self.assertEqual((done.returncode, done.stderr), (2, f"sumac: bench: -n 8: the lab of {fabric} has 4 slots: give at most 4, or more `slots` to its hosts\n"))

    def test_without_matplotlib_the_table_comes(self):
        """Neither python3 has it: a start-up file, which both read, hides it."""
        site = self.folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(HIDE)
        words = ("osu_barrier", "-i", "10", "-x", "1")
        done = self.compare(*words, PYTHONPATH=str(site))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no plot: python3 has no matplotlib: install it (Debian: apt install python3-matplotlib)", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^- +\d+\.\d\d")
        self.assertEqual(list(self.folder.glob("*.png")), [])
        self.assertEqual(self.compare(*words, "--plot", "x", PYTHONPATH=str(site)).returncode, 2)

    def test_a_run_that_fails_ends_it(self):
        done = self.compare("osu_bcast", "-m", "8K:8K", "-M", "1K", "--no-plot")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("8192 bytes and more are left out", done.stderr)
        self.assertIn("ended with status 2; its own lines stand above", done.stderr)
        done = self.compare("osu_bcast", "--json", "nowhere/numbers.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no folder", done.stderr)

    def test_interrupted_it_leaves_nothing(self):
        """The benchmark would run for hours. Its first rank shows that it runs; after SIGINT no rank is left."""
        mark = self.folder / "mark"
        mark.mkdir()
        command = [SUMAC, "bench", "--compare", "-n", "2", "--no-plot", "--mpirun", f"mpirun -x MARK={mark}", "osu_barrier", "-i", "1000000000", "-x", "0"]
        # ps shows the environment's mark of each rank; the ranks are those of this very run.
        with subprocess.Popen(command, cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as process:
            try:
                while len(self.ranks(mark)) < 2:
                    self.assertIsNone(process.poll(), "it ended before a rank ran")
            finally:
                os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted: no result", err)
        self.assertEqual(self.ranks(mark), [])

    @staticmethod
    def ranks(mark):
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"MARK={mark}".encode() in place.read_bytes().split(b"\0") and "sumac-bench" in os.readlink(place.parent / "exe"):
                    found.append(place.parent.name)
            except OSError:
                continue  # It has ended, or belongs to another user.
        return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
