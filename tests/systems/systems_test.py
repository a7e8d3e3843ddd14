"""What `make systems` reads from a run, and that it leaves no process."""

import importlib.util
import json
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"systems_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


systems, arm64 = load("run"), load("arm64")

REPORT = """<?xml version="1.0"?>
<testsuite><testcase name="a" status="run"/>
<testcase name="b" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>x
skipped: no adapter
</system-out></testcase>
<testcase name="c" status="disabled"/></testsuite>
"""


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sumac-systems-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_last_count_is_taken(self):
        self.assertEqual(systems.counted(["5 passed, 1 failed\n", "12 passed, 3 failed, 4 skipped\n", "make: *** [test] Error 1\n"]), (12, 3))
        self.assertIsNone(systems.counted(["ninja: build stopped\n"]))

    def test_each_skipped_test_has_its_reason(self):
        report = self.folder / "ctest.xml"
        self.assertEqual(systems.reasons(report), {})
        report.write_text(REPORT, encoding="utf-8")
        self.assertEqual(systems.reasons(report), {"b": "skipped: no adapter", "c": "it printed no reason"})

    def test_a_program_for_arm_that_stopped_has_failed(self):
        report = self.folder / "base.json"
        self.assertEqual(arm64.counted(report, 139), (0, ["it did not run to its end"]))
        cases = [{"name": "a", "result": "COMPLETED"}, {"name": "b", "result": "SKIPPED"}, {"name": "c", "result": "COMPLETED", "failures": [{}]}]
        report.write_text(json.dumps({"testsuites": [{"name": "T", "testsuite": cases}]}), encoding="utf-8")
        self.assertEqual(arm64.counted(report, 1), (1, ["T.c"]))
        report.write_text(json.dumps({"testsuites": [{"name": "T", "testsuite": cases[:2]}]}), encoding="utf-8")
        self.assertEqual(arm64.counted(report, 0), (1, []))
        self.assertEqual(arm64.counted(report, 1), (1, ["it ended with status 1"]))

    def test_the_list_for_arm_has_each_library_of_the_build(self):
        def listed(name):
            text = (HERE.parents[1] / "packaging" / name).read_text(encoding="utf-8")
            return {line.split("#")[0].split(":")[0].strip() for line in text.splitlines()}

        libraries = {name for name in listed("apt.txt") if name.startswith("lib")}
        self.assertEqual(libraries - listed("apt-arm64.txt") - {"libmpich-dev"}, set(), "arm64.py unpacks that one's headers")

    def test_a_command_is_shown_and_kept(self):
        log = self.folder / "log"
        self.assertEqual(systems.follow(["sh", "-c", "echo one; echo two >&2; exit 3"], None, log), (3, ["one\n", "two\n"]))
        self.assertEqual(log.read_text(encoding="utf-8"), "one\ntwo\n")


if __name__ == "__main__":
    unittest.main()
