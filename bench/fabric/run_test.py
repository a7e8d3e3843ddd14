#!/usr/bin/env python3
"""`make bench-fabric` for real: one case in its quick form, what it writes, and what cannot work. No timing is judged."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from demolib import testing  # noqa: E402
from demolib.lab import start as start_process  # noqa: E402
from demolib.ways import Tools  # noqa: E402
from fabric.cases import CASES  # noqa: E402
from fabric.run import bounded  # noqa: E402

BUILD, CASE = Path(sys.argv[1]), "barrier-16h-500us"
ROOT = Path(__file__).resolve().parents[2]
RUN = [sys.executable, "-B", str(Path(__file__).with_name("run.py")), "--build", str(BUILD)]


class Run(unittest.TestCase):
    def start(self, folder, *words):
        return start_process([*RUN, "--out", f"{folder}/fabric.json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_one_case_fills_its_row(self):
        with tempfile.TemporaryDirectory() as folder:
            out, err = self.start(folder, "--quick", "--case", CASE).communicate(timeout=300)
            self.assertIn("demo-16h-500us run 1: bare epoll", out, err)
            (row,) = json.loads(Path(folder, "fabric.json").read_text())
            self.assertEqual((row["case"], row["unit"], row["limit"]), (CASE, "ms", 2.0))
            self.assertGreater(row["wire_limit"], row["limit"])
            for number in (row["bare"], row["peers"]["Open MPI default"], row["sumac"], row["sumac_lib"]):
                self.assertGreater(number, 2.0, "nobody beats the limit")
            self.assertIn(f"| {CASE} ", Path(folder, "fabric.txt").read_text())

    def test_limits_are_what_the_tool_says_of_the_fabric(self):
        for name, kind in (("bcast-4MiB-8h", "bcast"), ("bcast-8B-16h-500us", "bcast"), ("bcast-64KiB-16h-500us", "bcast"),
                           ("reduce-8B-16h-500us", "reduce"), ("allgather-1KiB-16h-500us", "allgather")):
            (case,) = [one for one in CASES if one.name == name]
            file = ROOT / "lab" / "fabrics" / f"{case.fabric.name}.yaml"
            done = subprocess.run([BUILD / "bin" / "sumac", "fabric", "bounds", file, "--json"], capture_output=True, text=True, check=True)
            tree = json.loads(done.stdout)["kinds"][kind]["tree"]
            bound_ms = (tree["fixed_s"] + case.size * tree["per_byte_s"]) * 1e3
            # The tool also counts a rank's own block, and it adds the delay to rows whose limit is only bytes / rate.
            self.assertLess(abs(case.limit / bound_ms - 1), 0.01, name)

    def test_limits_of_a_method_are_its_own_numbers(self):
        limits = {case.name: case.limit for case in bounded([case for case in CASES if case.bound], Tools(BUILD))}
        expected = {"allgather-16MiB-8h": 671.0886 * 7 / 8, "allreduce-16MiB-8h-2rails": 1677.7216, "allreduce-16MiB-8h-8spare": 2236.9621,
                    "allreduce-16MiB-8h-onhosts": 2236.9621 * 14 / 8}
        self.assertEqual(limits.keys(), expected.keys())
        for name, limit in expected.items():
            self.assertAlmostEqual(limits[name], limit, 3)

    def test_the_list_names_what_must_hold(self):
        out, _ = self.start("/nonesuch", "--list").communicate(timeout=60)
        self.assertIn("allreduce-16MiB-8h-2rails    <= 1.10 x limit", out)

    def test_what_cannot_work_is_one_clear_line(self):
        for words, message in ((("--case", "nonesuch"), "no case 'nonesuch'"),
                               (("--build", "/nonesuch"), "/nonesuch/bin/sumac is missing: build it first")):
            process = self.start("/nonesuch", *words)
            _, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err.count("\n")), (1, 1), err)
            self.assertIn(message, err)


if __name__ == "__main__":
    testing.main(BUILD)
