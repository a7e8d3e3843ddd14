"""sumac-bench under a real mpirun on two ranks: every collective, blocking and not, with its results checked; the form of its tables; an MPI that
lies is found; wrong words are named. usage: run_test.py BUILD"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import facts  # noqa: E402
import form  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = BUILD / "lib" / "sumac" / "bench" / "sumac-bench"
BROKEN = BUILD / "tests" / "libbroken_mpi.so"
SUMAC = BUILD / "bin" / "sumac"
IS_SANITIZED = "SUMAC_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
FEW = ["-m", "4:16", "-i", "2", "-x", "1"]


def start(*command, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "SUMAC_", "HCOLL_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
    return subprocess.run([str(word) for word in ("/usr/bin/timeout", 100, *command)], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def bench(*words, ranks=2, broken=None, program=(PROGRAM,)):
    command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", ranks]
    if broken:
        command += ["-x", f"LD_PRELOAD={BROKEN}", "-x", f"BROKEN_MPI={broken}"]
    return start(*command, *program, *words)


class Tables(unittest.TestCase):
    maxDiff = None

    def tables(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return form.read(done.stdout)

    def same(self, real, table):
        self.assertEqual(form.own_faults(table) + form.differences(real, table), [])

    def test_osu(self):
        """One of each shape of data; Intel's names, which need a single start, bring all collectives."""
        for number, kind in enumerate(("Alltoall", "Barrier", "Gatherv", "Reduce_scatter")):
            for is_nonblocking in (False, True):
                has_data, is_full = kind != "Barrier", number % 2 == 0 or is_nonblocking
                name = f"osu_{'i' if is_nonblocking else ''}{kind.lower()}"
                with self.subTest(name):
                    (table,) = self.tables(bench(name, *FEW, *(["-f"] if is_full else []), *(["-c"] if has_data else [])))
                    self.same(facts.osu(kind, is_nonblocking, is_full, has_data), table)
                    self.assertEqual(table.sizes, [4, 8, 16] if has_data else [])
                    self.assertTrue(not has_data or {row[-1] for row in table.rows} == {"Pass"}, table)

    def test_osu_titles(self):
        """-v prints the title, and needs no MPI_Init."""
        for kind in facts.KINDS:
            for is_nonblocking in (False, True):
                done = start(PROGRAM, "--parse", 0, f"osu_{'i' if is_nonblocking else ''}{kind.lower()}", "-v")
                self.assertRegex(done.stdout, rf"^# OSU MPI {facts.osu(kind, is_nonblocking).kind} Latency Test v\S+\n$")

    def test_messages_between_two_ranks(self):
        for name, more, sizes in (("osu_latency", ["-m", "0:2", "-c"], [0, 1, 2]), ("osu_bw", ["-m", "4:16", "-W", 3], [4, 8, 16]),
                                  ("osu_bibw", ["-m", "4:16", "-W", 3, "-c"], [4, 8, 16])):
            with self.subTest(name):
                (table,) = self.tables(bench(name, "-i", 2, "-x", 1, *more))
                self.same(facts.pair(name, "-c" in more), table)
                self.assertEqual(table.sizes, sizes)
                self.assertTrue(all(float(row[1]) >= 0 and row[2:] in ([], ["Pass"]) for row in table.rows), table)

    def test_programs_by_their_name(self):
        """As published lines start them below a launcher; alone they are `sumac bench`, which tests/pasted asks."""
        tests = BUILD / "lib/sumac/mpi-tests"
        (table,) = self.tables(start("mpirun", "--oversubscribe", "-n", 2, tests / "osu_bw", "-m", "4:4", "-i", 1, "-x", 0))
        self.same(facts.pair("osu_bw"), table)
        listed = start(SUMAC, "bench", "--list").stdout
        names = {path.name for path in tests.iterdir() if path.is_symlink()}
        self.assertEqual(names, set(re.findall(r"osu_\w+|mpi_overhead$", listed, re.MULTILINE)))

    def test_processor_time_of_a_message(self):
        for words in ([], ["-r"]):
            done = bench("mpi_overhead", "-i", 20, "-m", 64, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            head, row = done.stdout.splitlines()
            self.assertEqual((head, [number.start() for number in re.finditer(r"\S+", row)]), (facts.OVERHEAD, facts.OVERHEAD_BEGINS))
            size, iterations, each, work, overhead, base, available = map(float, row.split())
            self.assertEqual((size, iterations), (64, 20))
            self.assertAlmostEqual(overhead, each - work, delta=0.002)
            # The columns are rounded to a nanosecond, and a message may take few of them.
            self.assertAlmostEqual(available, 100 * (1 - overhead / base), delta=0.2 + 0.05 * abs(available))
            self.assertGreaterEqual(each + 0.002, 1.49 * base)

    def test_intel_with_more_ranks_than_take_part(self):
        done = bench("IMB-MPI1", "-iter", "2", "-msglog", "2:3", "-check", ranks=3)
        tables = self.tables(done)
        self.assertEqual(sorted(table.kind for table in tables), sorted(2 * facts.KINDS))
        for number, table in enumerate(tables):
            self.same(facts.imb(table.kind, is_checked=True, is_waited_for=number % 2 == 0), table)
            if table.kind != "Barrier":
                self.assertEqual((table.sizes, {row[-1] for row in table.rows}), ([0, 4, 8], {"0.00"}))
        self.assertIn("# All processes entering MPI_Finalize", done.stdout)

    def test_intel_nonblocking(self):
        tables = self.tables(bench("IMB-NBC", "-iter", "2", "-msglog", "2:3", "-check"))
        self.assertEqual(len(tables), 2 * len(facts.KINDS))
        for table in tables:
            self.same(facts.imb(table.kind, has_overlap=not table.kind.endswith("_pure"), is_checked=True), table)

    def test_sums_of_an_odd_number_of_ranks(self):
        for name in ("osu_reduce_scatter", "osu_ireduce_scatter_block"):
            (table,) = self.tables(bench(name, "-m", "4:4K", "-i", "2", "-x", "0", "-c", ranks=3))
            self.assertEqual({row[-1] for row in table.rows}, {"Pass"}, name)


class Mistakes(unittest.TestCase):
    def test_wrong_data_are_named(self):
        for broken, words, line in (("sum", ["osu_allreduce", "-m", "64"], "osu_allreduce: WRONG at rank 1: "),
                                    ("reduce", ["osu_reduce", "-m", "64:64"], "osu_reduce: WRONG at rank 0: 64 bytes"),
                                    ("bcast", ["IMB-MPI1", "Bcast", "-msglog", "10:10", "-check"], "IMB-MPI1 Bcast: WRONG at rank 1: 1024 bytes, iteration 6, byte 1023 is ")):
            with self.subTest(broken):
                more = [] if "-check" in words else ["-i", "9", "-x", "0", "-c"]
                done = bench(*words, *more, broken=broken)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(line, done.stderr)
                self.assertIn(" instead of ", done.stderr)
                if "-c" in more:
                    self.assertIn("Fail", done.stdout)
                else:
                    self.assertIn("1.00", [row[-1] for table in form.read(done.stdout) for row in table.rows])

    def test_sizes_above_the_memory_limit(self):
        done = bench("osu_alltoall", "-m", "8:64K", "-M", "2K", "-i", "2", "-x", "0")
        self.assertEqual((done.returncode, form.read(done.stdout)[0].sizes[-1]), (0, 512), done.stderr)
        self.assertIn("1024 bytes and more are left out", done.stderr)
        self.assertEqual(bench("osu_alltoall", "-m", "8K:64K", "-M", "2K").returncode, 2)

    @unittest.skipIf(IS_SANITIZED, "a sanitized program needs more addresses than the limit has")
    def test_more_iterations_than_the_memory_has_times_for(self):
        done = bench("IMB-MPI1", "Bcast", "-msglog", "2:2", "-iter", 10**9, program=["sh", "-c", 'ulimit -v 3000000 && exec "$0" "$@"', PROGRAM])
        self.assertEqual((done.returncode, form.read(done.stdout)), (2, []), done.stderr)
        self.assertTrue(done.stderr.startswith("IMB-MPI1 Bcast: no memory for the times of 1000000000 iterations: take fewer (-iter)\n"), done.stderr)

    def test_sizes_whose_displacements_no_int_holds(self):
        done = bench("IMB-MPI1", "Scatterv", "-npmin", 3, "-msglog", "30:30", "-mem", 8, "-iter", 1, ranks=3)
        self.assertEqual((done.returncode, form.read(done.stdout)[0].sizes), (0, [0]), done.stderr)
        self.assertIn("IMB-MPI1 Scatterv: 1073741824 bytes and more are left out: with 3 ranks a displacement would be above 2147483647", done.stderr)

    def test_words_before_anything_starts(self):
        for words, status, line in ((["osu_mbw_mr"], 2, "no benchmark osu_mbw_mr: known are osu_allgather, "),
                                    (["--compare", "osu_bw"], 2, "osu_bw: the MPI alone carries messages between two ranks: leave --compare out"),
                                    (["-n", "3", "osu_bw"], 2, "osu_bw measures messages between 2 ranks, and there are 3: give -n 2"),
                                    (["mpi_overhead", "-t", "1"], 2, "-t 1: give a ratio above 1"), (["osu_latency", "-W", "3"], 2, "no option -W"), (["IMB-MPI1", "PingPong"], 2, "known are Allreduce, "),
                                    (["osu_bcast", "-q"], 2, "no option -q"), (["osu_bcast", "-i", "none"], 2, "-i none: give a whole number"),
                                    (["osu_bcast", "-m", "9:8"], 2, "-m 9:8: give sizes"), (["osu_bcast", "-i"], 2, "-i needs a value"),
                                    (["osu_barrier", "-c"], 2, "no data to check"), (["IMB-NBC", "Ibcast", "-npmin", "4"], 2, "at least 4 ranks"),
                                    (["-n", "1", "osu_bcast"], 2, "at least 2 ranks"), (["--lab", "/nowhere.yaml", "osu_bcast"], 2, "no such file"),
                                    (["--mpirun", "true", "osu_bcast"], 2, "no MPI launcher"), ([], 2, "which benchmark?")):
            with self.subTest(" ".join(words)):
                done = start(SUMAC, "bench", *(["-n", "2"] if "-n" not in words else []), *words)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertIn(line, done.stderr)

    def test_without_a_launcher(self):
        done = start(SUMAC, "bench", "osu_bcast", PATH="/nowhere")
        self.assertEqual(done.returncode, 127)
        self.assertIn("mpirun is not in the PATH: install Open MPI", done.stderr)

    def test_texts(self):
        for words, part in ((["--help"], "usage: sumac bench"), (["--list"], "osu_iallreduce"), (["--list"], "osu_bibw"), (["mpi_overhead", "--help"], "base_t"),
                            (["osu_bw", "-h"], "-W COUNT"), (["osu_bibw", "-v"], "# OSU MPI Bi-Directional Bandwidth Test v"), (["osu_bcast", "-h"], "-m [MIN:]MAX"), (["IMB-MPI1", "-help"], "-npmin N"),
                            (["osu_bcast", "-h"], "Usage: sumac bench osu_bcast [options]"), (["IMB-NBC", "-help"], "Usage: sumac bench IMB-NBC [options]"),
                            (["IMB-NBC", "-list"], "Ibarrier_pure"), (["osu_bcast", "-v"], "# OSU MPI Broadcast Latency Test v")):
            done = start(SUMAC, "bench", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(part, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
