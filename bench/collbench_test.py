#!/usr/bin/env python3
"""collbench under a real mpirun on this machine, with an honest MPI and with one that lies."""

import json
import os
import subprocess
import sys
import unittest

COLLBENCH, BROKEN = sys.argv[1:3]
KEYS = {"program", "case", "bytes", "type", "ranks", "iterations", "warmup", "unit", "median", "mean", "min", "max", "p90",
        "cpu_ms", "verified", "errors"}


def collbench(*words, ranks=4, broken=None):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks)]
    if broken:
        command += ["-x", f"LD_PRELOAD={BROKEN}", "-x", f"BROKEN_MPI={broken}"]
    done = subprocess.run([*command, COLLBENCH, *words], capture_output=True, text=True, timeout=100, check=False,
                          env={k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_"))})
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


class Collbench(unittest.TestCase):
    def test_one_start_serves_many_cases(self):
        status, lines, err = collbench("--case", "barrier::20:2", "--case", "allreduce:8,4K:20:2", "--case", "allreduce:1M:3:1")
        self.assertEqual(status, 0, err)
        self.assertEqual([(line["case"], line["bytes"]) for line in lines],
                         [("barrier", 0), ("allreduce", 8), ("allreduce", 4096), ("allreduce", 1 << 20)])
        for line in lines:
            self.assertEqual(set(line), KEYS)
            self.assertEqual((line["program"], line["ranks"], line["unit"], line["errors"]), ("collbench", 4, "ms", 0))
            self.assertTrue(0 < line["min"] <= line["median"] <= line["p90"] <= line["max"])
        self.assertEqual([line["type"] for line in lines], [None, "int64", "int64", "float"])
        self.assertEqual((lines[3]["iterations"], lines[3]["warmup"], lines[3]["verified"]), (3, 1, 16))
        self.assertEqual((lines[0]["verified"], lines[1]["verified"]), (22, 88))

    def test_every_type_is_verified_on_a_number_of_ranks_that_is_no_power_of_two(self):
        for kind in ("int32", "int64", "float", "double"):
            status, lines, err = collbench("--type", kind, "--case", "allreduce:8,64K,1M:3:1", ranks=3)
            self.assertEqual((status, [line["errors"] for line in lines]), (0, [0, 0, 0]), f"{kind}: {err}")

    def test_parts_of_a_vector(self):
        for kind in ("int32", "double"):
            status, lines, err = collbench("--type", kind, "--case", "reduce_scatter:24,96K:3:1", "--case", "allgather:24,96K:3:1",
                                          "--case", "reduce_scatter_block:24,96K:3:1", "--case", "alltoall:24,96K:3:1", "--case", "alltoallv:24,96K:3:1", ranks=3)
            self.assertEqual((status, [line["errors"] for line in lines]), (0, [0] * 10), f"{kind}: {err}")
        _, _, err = collbench("--type", "int32", "--case", "allgather:16", ranks=3)
        self.assertIn("allgather of 16 bytes: 3 ranks do not get equal parts of it", err)

    def test_every_rank_is_the_root_once(self):
        for kind in ("int32", "double"):
            status, lines, err = collbench("--type", kind, "--case", "bcast:8,96K:5:1", "--case", "reduce:8,96K:5:1", ranks=3)
            self.assertEqual((status, [(line["errors"], line["verified"]) for line in lines]), (0, [(0, 18)] * 2 + [(0, 6)] * 2),
                             f"{kind}: {err}")

    def test_wrong_data_of_a_root_are_found_and_named(self):
        for broken, words in (("bcast", "collbench: rank 1, bcast of 1024 bytes (int64), iteration 6, element 0"),
                              ("reduce", "collbench: rank 2, reduce of 1024 bytes (int64), iteration 6, element 127")):
            status, lines, err = collbench("--case", f"{broken}:1K:10:0", broken=broken)
            self.assertEqual((status, lines[0]["errors"]), (1, 1), err)
            self.assertIn(words, err)

    def test_a_wrong_sum_is_found_and_named(self):
        status, lines, err = collbench("--case", "allreduce:1K:10:0", broken="sum")
        self.assertEqual((status, lines[0]["errors"]), (1, 1))
        self.assertIn("collbench: rank 1, allreduce of 1024 bytes (int64), iteration 6, element 127", err)

    def test_a_barrier_that_does_not_wait_is_found(self):
        status, lines, err = collbench("--case", "barrier::50:0", broken="barrier")
        self.assertEqual(status, 1)
        self.assertGreater(lines[0]["errors"], 0)
        self.assertIn("left", err)

    def test_a_call_that_fails_ends_the_job_with_its_iteration(self):
        status, lines, err = collbench("--case", "allreduce:8:10:0", broken="fail")
        self.assertNotEqual(status, 0)
        self.assertEqual(lines, [])
        self.assertIn("allreduce of 8 bytes failed in iteration 6: MPI_ERR_OTHER", err)

    def test_a_command_line_that_cannot_work_is_one_clear_line(self):
        for words, message in (
            ((), "nothing to do: give --case, or --help"),
            (("--case", "gather:8"), "no collective 'gather'"),
            (("--case", "allreduce:7"), "the size must be a multiple of 4 (int32)"),
            (("--case", "allreduce"), "allreduce of 0 bytes"),
            (("--case", "barrier:8"), "barrier carries no data"),
            (("--case", "allreduce:8x"), "'8x' is not a size"),
            (("--type", "half", "--case", "barrier"), "no type 'half'"),
            (("--colour",), "cannot read '--colour'"),
            (("stray",), "cannot read 'stray'"),
        ):
            done = subprocess.run([COLLBENCH, *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertEqual(done.stderr.count("\n"), 1, f"{words}: {done.stderr}")
            self.assertIn(message, done.stderr)

    def test_of_many_ranks_only_one_complains(self):
        status, lines, err = collbench("--colour", ranks=2)
        self.assertEqual((status, lines, err.count("collbench:")), (2, [], 1), err)

    def test_help(self):
        done = subprocess.run(["mpirun", "--allow-run-as-root", "-n", "1", COLLBENCH, "--help"], capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertIn("--case NAME[:SIZES[:ITERATIONS[:WARMUP]]]", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
