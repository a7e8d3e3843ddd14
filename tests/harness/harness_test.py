#!/usr/bin/env python3
"""Nothing outlives a test that uses the harness: neither its folder nor its processes, however the test ends."""

import os
import pathlib
import signal
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import folders, processes  # noqa: E402  pylint: disable=wrong-import-position

BEGIN = f"import os, sys; sys.path.append({str(pathlib.Path(__file__).resolve().parents[1])!r}); from harness import folders, processes\n"


def python(program, **options):
    return processes.start([sys.executable, "-c", BEGIN + program], text=True, stdout=processes.PIPE, stderr=processes.PIPE, **options)


class Folders(unittest.TestCase):
    def test_a_program_that_fails_leaves_no_folder(self):
        with python("print(folders.Folder('sumac-harness-').path, flush=True)\nraise AssertionError('a test failed')") as program:
            out, err = program.communicate(timeout=60)
        self.assertIn("a test failed", err)
        self.assertRegex(out, "sumac-harness-")
        self.assertFalse(pathlib.Path(out.strip()).exists())

    def test_a_fork_does_not_remove_its_parents_folder(self):
        with python("folder = folders.Folder('sumac-harness-')\nif os.fork() == 0:\n    folder.remove(); os._exit(0)\nos.wait(); print(folder.path.is_dir())") as program:
            self.assertEqual(program.communicate(timeout=60)[0], "True\n")

    def test_a_block_removes_it(self):
        with folders.Folder("sumac-harness-") as path:
            (path / "file").write_text("x")
        self.assertFalse(path.exists())


class Processes(unittest.TestCase):
    def test_a_process_ends_when_its_starter_is_killed(self):
        heard, said = os.pipe()
        parent = python(f"child = processes.start(['sleep', 1000], pass_fds=[{said}]); print(child.pid, flush=True); child.wait()", pass_fds=[said])
        os.close(said)
        self.assertTrue(parent.stdout.readline().strip().isdigit())
        parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=60)
        with os.fdopen(heard, "rb") as end:
            self.assertEqual(end.read(), b"")  # the last holder of the pipe has ended

    def test_a_merged_program_ends_when_its_runner_is_killed(self):
        heard, said = os.pipe()
        inner = "import signal; print('ready', flush=True); signal.sigtimedwait([signal.SIGUSR1], 100)"
        runner = processes.start([sys.executable, "-c", BEGIN + f"from harness import rows\nrows.run_to_its_end([sys.executable, '-c', {inner!r}], None)"],
                                 text=True, stdout=said)
        os.close(said)
        with os.fdopen(heard, "rb") as end:
            self.assertEqual(end.readline(), b"ready\n")
            runner.send_signal(signal.SIGKILL)
            runner.wait(60)
            self.assertEqual(end.read(), b"")

    def test_a_daemon_that_does_not_get_ready_is_told_apart(self):
        for script, ready in (("echo ready >&$2", True), ("exit 3", False)):
            process, is_ready = processes.start_ready(["sh", "-c", script, "sh"])
            self.assertEqual(is_ready, ready)
            self.assertEqual(process.wait(60), 0 if ready else 3)

    def test_an_end_is_polite_first(self):
        stubborn = python("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)\nsignal.pause()")
        stubborn.stdout.readline()
        processes.end(stubborn, grace=0.1)
        self.assertEqual(stubborn.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
