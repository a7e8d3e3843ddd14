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
ROW = re.compile(r"^(\d+K?) +(\d+\.\d\d) +(\d+\.\d\d) +(\d+\.\d{3}) +-$", re.MULTILINE)
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
        for _, sumac, mpi, ratio in rows:
            self.assertGreater(min(float(sumac), float(mpi), float(ratio)), 0)
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
        done = self.compare("IMB-NBC", "Ibcast", "Ibarrier", "-iter", "20", "-msglog", "3:3", "--plot", "two.png")
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


LAST_LINE = "sumac: collectives: shared memory 12 (allreduce 12)"


def printing(*rows, err=""):
    """Returns a command that prints these rows, as the benchmark does, and `err` on stderr."""
    lines = [json.dumps({"benchmark": name, "ranks": ranks, "bytes": size, "median": time}, separators=(",", ":")) for name, ranks, size, time in rows]
    return ["sh", "-c", 'printf "%s\\n" "$1"; test -z "$2" || printf "%s\\n" "$2" >&2', "sh", "\n".join(lines), err]

# Draws with a short, a long and a very long command line, the last one with a warning.
FIT = """
import sys
sys.path[:0] = sys.argv[1:3]
import picture, results, running
row = '{"benchmark":"ireduce_scatter_block","ranks":16,"bytes":%d,"median":%d,"overlap":1}'
out = "\\n".join(row % (size, size) for size in (8, 16))
widths = []
for title, err in (("osu_bcast -m 8, this host", "sumac: collectives: tree 1"), ("IMB-MPI1 Allreduce Barrier -npmin 2 -msglog 3:4 -iter 50, this host", "sumac: collectives: tree 1"),
                   ("IMB-NBC " + "Ireduce_scatter_block " * 50, "")):
    comparison = results.Comparison(title, 6, [(running.Run(out, ""), running.Run(out, err))] * 6)
    for group, rows in comparison.groups():
        figure = picture.draw_group(comparison, group, rows)
        figure.canvas.draw()
        times = figure.axes[0]
        text, axes, legend = times.texts[0].get_window_extent(), times.get_window_extent(), times.get_legend().get_window_extent()
        assert text.x1 <= axes.x1, (title, text, axes)
        assert text.y1 <= legend.y0, (title, text, legend)
        assert (err == "") == ("NO COMPARISON" in times.texts[0].get_text())
        widths.append(axes.width)
assert max(widths) == min(widths), widths
"""


class Script(unittest.TestCase):
    """The comparing script alone, with commands that print given rows at once."""
    ROWS = (("allreduce", 2, 8, 2.0), ("allreduce", 2, 16, 4.0))

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="sumac-compare-")
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def script(self, *words, pairs=2, sumac=None, mpi=None, shell="", **variables):
        """Runs the script; `shell` stands behind it in a command line of sh."""
        sides = {"sumac": sumac or printing(*self.ROWS, err=LAST_LINE), "mpi": mpi or printing(*self.ROWS)}
        # -S leaves out the installed packages, which the script has no need of: it starts in half the time.
        command = [sys.executable, "-BS", BUILD / "lib/sumac/bench/compare", f"--sides={json.dumps(sides)}", f"--pairs={pairs}", "--benchmark=osu_allreduce", *words]
        return subprocess.run(["sh", "-c", f'"$@" {shell}', "sh", *command], cwd=self.folder, env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)

    def check_refused(self, done, part):
        """It ended before the first pair, with one line, and left nothing."""
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(part, done.stderr)

    def test_files_that_cannot_be_written_are_refused_before_it_measures(self):
        (self.folder / "folder").mkdir()
        rows = (
            ("a full device", "--json=/dev/full", "--json /dev/full: No space left on device: name a file"),
            ("a folder", "--json=folder", "--json folder: Is a directory"),
            ("a folder that takes no file", "--json=/proc/x.json", "--json /proc/x.json: the folder /proc takes no new file"),
            ("no folder", "--json=nowhere/x.json", "there is no folder"),
            ("a name that is too long", f"--json={'x' * 300}", "File name too long"),
            ("a plot's name that is too long", f"--plot={'x' * 300}", "File name too long"),
            ("a plot's name with .svg", "--plot=/proc/x.svg", "--plot /proc/x.png: the folder"),
            ("this folder as a plot", "--plot=.", "it is a folder or has no name: give"),
            ("a folder as a plot", "--plot=folder/", "it is a folder or has no name: give the plot's name, as in --plot folder/allreduce"),
            ("a folder's name as a plot", "--plot=folder", "it is a folder"),
            ("a plot without a name", "--plot=.png", "has no name"),
        )
        for name, word, part in rows:
            with self.subTest(name):
                self.check_refused(self.script(word, *["--plot-is-asked-for"] * word.startswith("--plot")), part)
        self.assertEqual(sorted(path.name for path in self.folder.rglob("*")), ["folder"])

    def test_a_plot_that_nobody_asked_for_is_left_out(self):
        done = self.script("--plot=/proc/x")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no plot: /proc/x.png: the folder /proc takes no new file", done.stderr)
        self.assertEqual(len(ROW.findall(done.stdout)), 2)

    def test_an_old_file_outlives_a_run_that_fails(self):
        old = self.folder / "numbers.json"
        old.write_text("old")
        self.assertEqual(self.script("--json=numbers.json", mpi=["false"]).returncode, 1)
        self.assertEqual(self.script("--json=new.json", mpi=["false"]).returncode, 1)
        self.assertEqual((old.read_text(), list(self.folder.iterdir())), ("old", [old]))

    def test_a_new_file_keeps_the_place_and_the_rights_of_the_old_one(self):
        real, link = self.folder / "real.json", self.folder / "link.json"
        real.write_text("old")
        real.chmod(0o640)
        link.symlink_to(real)
        self.assertEqual(self.script("--json=link.json").returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual((real.stat().st_mode & 0o777, len(json.loads(real.read_text())["rows"])), (0o640, 2))

    def test_one_output_that_fails_does_not_lose_the_others(self):
        """The run itself takes the folder of the JSON away."""
        (self.folder / "gone").mkdir()
        command = ["sh", "-c", 'rmdir gone; exec "$@"', "sh", *printing(*self.ROWS)]
        done = self.script("--json=gone/x.json", mpi=command)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--json gone/x.json could not be written: No such file or directory", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(len(ROW.findall(done.stdout)), 2)

    def test_without_stdout_the_json_comes(self):
        for name, shell, reason in (("full", ">/dev/full", "No space left on device"), ("closed", ">&-", "Bad file descriptor")):
            with self.subTest(name):
                self.check_refused(self.script(shell=shell), f"standard output: {reason}: the table would be lost")
                done = self.script(f"--json={name}.json", shell=shell)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"the table could not be written: {reason}", done.stderr)
                self.assertEqual(len(json.loads((self.folder / f"{name}.json").read_text())["rows"]), 2)
        # The run itself waits until the pipe has no reader.
        command = ["sh", "-c", 'until test -e ended; do :; done; exec "$@"', "sh", *printing(*self.ROWS)]
        done = self.script("--json=pipe.json", mpi=command, shell="| { exec <&-; touch ended; }")
        self.assertIn("the table could not be written: Broken pipe", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(len(json.loads((self.folder / "pipe.json").read_text())["rows"]), 2)

    def test_without_stderr_all_is_well(self):
        for shell in ("2>&-", "2>/dev/full", "2>&- <&-"):
            done = self.script("--json=numbers.json", shell=shell)
            self.assertEqual((done.returncode, len(ROW.findall(done.stdout))), (0, 2), shell)
            self.assertNotIn("pair 1", done.stdout)

    def test_json_may_go_to_stdout(self):
        done = self.script("--json=/dev/stdout")
        self.assertEqual((done.returncode, len(ROW.findall(done.stdout))), (0, 2), done.stderr)
        self.assertEqual(len(json.loads(done.stdout[done.stdout.index("{"):])["rows"]), 2)
        self.script("--json=/dev/stdout", shell=">both")
        self.assertEqual((self.folder / "both").read_text(), done.stdout)

    def test_a_benchmark_that_is_named_twice_has_two_tables(self):
        rows = (("bcast", 2, 0, 1.0), ("bcast", 2, 8, 2.0), ("bcast", 4, 0, 3.0), ("bcast", 4, 8, 4.0))
        again = (("bcast", 2, 0, 5.0), ("bcast", 2, 8, 6.0), ("bcast", 2, 16, 7.0), ("bcast", 2, 0, 8.0))
        done = self.script("--json=numbers.json", sumac=printing(*rows, *again, err=LAST_LINE), mpi=printing(*rows, *again))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [(row["benchmark"], row["ranks"], row["bytes"], row["sumac"]) for row in json.loads((self.folder / "numbers.json").read_text())["rows"]]
        self.assertEqual(found, [*rows, *(("bcast-2", *row[1:]) for row in again[:3]), ("bcast-3", 2, 0, 8.0)])
        self.assertRegex(done.stdout, r"(?m)^# bcast-2, 2 ranks$")

    def test_a_row_that_not_every_run_has_is_named(self):
        done = self.script(mpi=printing(self.ROWS[0]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("# allreduce, 2 ranks, 16 bytes: only 2 of 4 runs have this row", done.stdout)

    def test_the_users_sumac_enable_is_for_neither_side(self):
        told = ["sh", "-c", f'echo "$1=${{SUMAC_ENABLE-unset}}" >>told; echo "$2"; echo "{LAST_LINE}" >&2', "sh"]
        row = printing(self.ROWS[0])[-2]
        done = self.script(sumac=[*told, "sumac", row], mpi=[*told, "mpi", row], SUMAC_ENABLE="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "told").read_text().split(), ["mpi=0", "sumac=unset", "sumac=unset", "mpi=0"])

    def test_a_side_that_stood_aside_is_no_comparison(self):
        why = "[h:1:0] HCOLL_ENABLE_SHARP=abc: expected a whole number from 0 to 4"
        for err in (why, f"{why}\nsumac: run: 2 hosts are ready", "sumac: collectives: no collective was called"):
            done = self.script("--json=numbers.json", sumac=printing(*self.ROWS, err=err))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count(err), 1, done.stderr)
            self.assertIn("its own lines stand above", done.stderr)
            self.assertRegex(done.stdout, r"(?m)^# NO COMPARISON: in 2 of 2 runs with Sumac")
            numbers = json.loads((self.folder / "numbers.json").read_text())
            self.assertEqual((numbers["stood_aside"], len(numbers["warnings"])), (2, 1))
        done = self.script(sumac=printing(*self.ROWS))
        self.assertIn("it printed nothing, and `SUMAC_EXPLAIN=1", done.stderr)

    def test_fewer_than_six_pairs_have_no_interval(self):
        """The median lies outside all of 5 values with a probability of 2 / 2^5 = 6.25 %, outside all of 6 with 3.1 %."""
        for pairs, interval, text in ((5, None, r"1\.000 +-$"), (6, [1.0, 1.0], r"1\.000 +1\.000\.\.1\.000$")):
            done = self.script("--json=numbers.json", pairs=pairs)
            self.assertRegex(done.stdout, r"(?m)^8 +2\.00 +2\.00 +" + text)
            self.assertEqual("# No interval: fewer than 6 pairs" in done.stdout, interval is None)
            self.assertEqual([row["interval"] for row in json.loads((self.folder / "numbers.json").read_text())["rows"]], [interval] * 2)

    def test_one_rank_is_no_ranks(self):
        rows = (("barrier", 1, 0, 1.0),)
        self.assertIn("# barrier, 1 rank\n", self.script(sumac=printing(*rows, err=LAST_LINE), mpi=printing(*rows)).stdout)

    def test_the_lines_above_a_plot_fit(self):
        """They are no wider than the axes, stand clear of the legend, and leave the axes their width."""
        if not has_matplotlib():
            self.skipTest("no matplotlib")
        compare = BUILD / "lib/sumac/bench/compare"
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", FIT, compare, compare.parent], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_signal_gives_its_number(self):
        """The run sends it to the script and waits for its own end."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            done = self.script(mpi=["sh", "-c", f"kill -{int(number)} $PPID; exec sleep 60"])
            self.assertEqual((done.returncode, done.stderr), (128 + number, "sumac bench: interrupted: no result\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
