"""What `make systems` reads from a run, and that it leaves no process."""

import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("systems_run", HERE / "run.py")
systems = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(systems)

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

    def test_a_command_is_shown_and_kept(self):
        log = self.folder / "log"
        self.assertEqual(systems.follow(["sh", "-c", "echo one; echo two >&2; exit 3"], None, log), (3, ["one\n", "two\n"]))
        self.assertEqual(log.read_text(encoding="utf-8"), "one\ntwo\n")


if __name__ == "__main__":
    unittest.main()
