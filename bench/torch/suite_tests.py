"""Runs PyTorch's own c10d tests in one process per test: `suite_tests.py BACKEND` reads their names, one a line, and prints a line of
JSON for each; with --list it prints their names.

The tests are those that the installed PyTorch brings (torch.testing._internal.distributed.distributed_test); with --source FOLDER, those
of test_c10d_gloo.py in a copy of PyTorch's source. They are written for gloo by name, so they run as gloo's; for BACKEND sumac, PyTorch's
word "gloo" and its class ProcessGroupGloo make a group of ours."""

import argparse
import io
import itertools
import json
import os
import pickle
import selectors
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

LIMIT_S = 240
SOURCE_TESTS = Path("test") / "distributed" / "test_c10d_gloo.py"


def load_installed():
    """The tests of the installed PyTorch by name. Their processes are forks, so that PyTorch is imported once."""
    import torch
    from torch.testing._internal.distributed import distributed_test as tests

    class TestDistBackendWithFork(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    TestDistBackendWithFork.setUpClass()
    return tests, {name: TestDistBackendWithFork for name in unittest.TestLoader().getTestCaseNames(TestDistBackendWithFork)}


def load_source(folder):
    """The tests of the file in PyTorch's source by name, also as forks, so that they see which class makes a group."""
    import torch
    from torch.testing._internal import common_distributed

    common_distributed.MultiProcessTestCase._spawn_processes = lambda case: case._start_processes(torch.multiprocessing.get_context("fork").Process)
    path = (folder / SOURCE_TESTS).resolve()
    sys.path.insert(0, str(path.parent))
    tests = __import__(path.stem)
    classes = [found for found in vars(tests).values() if isinstance(found, type) and issubclass(found, unittest.TestCase)]
    return tests, {f"{cls.__name__}.{name}": cls for cls in classes for name in unittest.TestLoader().getTestCaseNames(cls)}


def put_sumac_for_gloo(tests):
    """A group of "gloo" becomes one of ours, and what its profiler's events are called follows."""
    import torch.distributed as dist

    from sumac_collectives import torch as ours

    dist.Backend._ensure_backend_registered("gloo")
    dist.Backend._plugins["GLOO"] = dist.Backend._BackendPlugin(ours._make, True)
    # DDP's log takes a group of this type for a ProcessGroupGloo, and reads its options.
    dist.Backend.backend_type_map["gloo"] = dist.ProcessGroup.BackendType.CUSTOM
    if not hasattr(tests, "get_profiling_event"):
        put_sumac_for_the_class(dist.distributed_c10d.ProcessGroupGloo, tests, ours)
        return
    find = tests.get_profiling_event

    def renamed(event_name, *arguments, **more):
        events = find(event_name.replace("gloo:", "sumac:"), *arguments, **more)
        for event in events:
            event.name = event.name.replace("sumac:", "gloo:")
        return events

    tests.get_profiling_event = renamed


def put_sumac_for_the_class(gloo, tests, ours):
    """A test that calls ProcessGroupGloo(store, rank, size, options) itself gets a group of ours; each has its own place in the store."""
    from datetime import timedelta

    import torch

    made = itertools.count()

    def make(store, rank, size, *options, **more):
        given = options[0] if options else more.get("timeout")
        timeout = given if isinstance(given, timedelta) else getattr(given, "_timeout", timedelta(seconds=60))
        return ours._load().make(store, rank, size, timeout, f"test-{next(made)}")

    make._Options = gloo._Options
    make.create_device = gloo.create_device
    make.create_default_device = gloo.create_default_device
    tests.c10d.ProcessGroupGloo = tests.dist.ProcessGroupGloo = make
    # Some tests ask their group for a network device, to make options that our group does not read.
    torch._C._distributed_c10d.Backend.create_device = staticmethod(gloo.create_device)


class Running:
    """A test in a child of this process, which leads a session of its own, with all that it starts."""

    def __init__(self, name, cls):
        self.name, self.began = name, time.monotonic()
        self.pipe, writes = os.pipe()
        self.said = tempfile.TemporaryFile()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.close(self.pipe)
            os.dup2(self.said.fileno(), 1)
            os.dup2(self.said.fileno(), 2)
            answer = ("failed", "the test's process raised an exception")
            try:
                answer = self._outcome(cls(name.rpartition(".")[2]))
            finally:
                os.write(writes, pickle.dumps(answer))
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        os.close(writes)

    @staticmethod
    def _outcome(case):
        result = unittest.TestResult()
        unittest.TestSuite([case]).run(result)
        for _, why in result.skipped:
            return "skipped", why
        for _, why in [*result.errors, *result.failures]:
            return "failed", why
        return "passed", ""

    def end(self, is_late):
        """Ends whatever of it still runs; returns the line for it."""
        if is_late:
            os.killpg(self.pid, signal.SIGKILL)
        with os.fdopen(self.pipe, "rb") as pipe:
            data = pipe.read() if not is_late else b""
        os.waitpid(self.pid, 0)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # All its processes have ended by themselves.
        outcome, why = pickle.loads(data) if data else ("late", f"not over after {LIMIT_S} s") if is_late else ("failed", "its process died")
        self.said.seek(0)
        said = io.TextIOWrapper(self.said, errors="replace").read()
        return {"test": self.name, "outcome": outcome, "why": why, "said": said[-4000:], "seconds": time.monotonic() - self.began}


def run_all(cases, names, at_once):
    """Runs the tests, some at once; yields a line for each as it ends."""
    waiting, running = list(reversed(names)), {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop()
                one = Running(name, cases[name])
                running[one.pipe] = one
                selector.register(one.pipe, selectors.EVENT_READ)
            patience = min(one.began for one in running.values()) + LIMIT_S - time.monotonic()
            ready = {key.fd for key, _ in selector.select(max(0.0, patience))}
            now = time.monotonic()
            for pipe, one in list(running.items()):
                if pipe in ready or now - one.began >= LIMIT_S:
                    selector.unregister(pipe)
                    del running[pipe]
                    yield one.end(pipe not in ready)


def main():
    """Prints names, or runs those on the input."""
    parser = argparse.ArgumentParser(prog="suite_tests", description=__doc__.splitlines()[0])
    parser.add_argument("backend", choices=("gloo", "sumac"))
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--size", type=int, default=3, metavar="N", help="processes of a test of the installed PyTorch (3)")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="tests at once (2)")
    parser.add_argument("--source", type=Path, metavar="FOLDER", help=f"a copy of PyTorch's source: its {SOURCE_TESTS} instead")
    arguments = parser.parse_args()
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(arguments.size))
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = os.environ["TEMP_DIR"] = folder
        tests, cases = load_source(arguments.source) if arguments.source else load_installed()
        if arguments.list:
            print("\n".join(cases))
            return
        if arguments.backend == "sumac":
            put_sumac_for_gloo(tests)
        for line in run_all(cases, sys.stdin.read().split(), arguments.at_once):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
