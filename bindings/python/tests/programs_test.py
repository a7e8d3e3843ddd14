"""Whole programs with the backend "sumac": their imports, and their exit."""
import contextlib
import importlib.util
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("torch") is None:
    print("skipped: there is no PyTorch: make setup-python installs it")
    sys.exit(77)

import ranks

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from harness import folders  # noqa: E402  pylint: disable=wrong-import-position

# Imports PyTorch once, and becomes two ranks that run the program and end as an interpreter does.
TWO_RANKS = """
import os
import sys
import torch
import torch.distributed
program, folder = sys.argv[1:]
ranks = []
for rank in range(2):
    pid = os.fork()
    if pid == 0:
        said = os.open(f"{folder}/said-{rank}", os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.argv[1:] = [str(rank), folder]
        exec(program)
        sys.exit(0)
    ranks.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in ranks])
"""

# Its last operation is posted and nobody waits for it; the helper thread is alive.
EXITS_AT_ONCE = """
import sys
import torch
import torch.distributed as dist
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("sumac", store=dist.FileStore(folder + "/store", 2), rank=rank, world_size=2)
x = torch.ones(4)
dist.all_reduce(x, async_op=True).wait()
print("sum", int(x[0]), flush=True)
if rank == 0:
    dist.all_reduce(torch.ones(100000), async_op=True)
"""

# The interpreter ends while a callback waits for an operation that it has started.
ENDS_IN_A_CALLBACK = """
import atexit
import os
import sys
import torch
import torch.distributed as dist
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("sumac", store=dist.FileStore(folder + "/store", 2), rank=rank, world_size=2)
def touch(name):
    open(folder + "/" + name, "w").close()
def wait_for(name):
    while not os.path.exists(folder + "/" + name):
        pass
def reduce_again(_):
    print("sum", int(dist.all_reduce(torch.ones(4), async_op=True).get_future().wait()[0][0]), flush=True)
if rank == 1:
    wait_for("asked")
first = dist.all_reduce(torch.ones(4), async_op=True).get_future()
if rank == 0:
    first.then(reduce_again)
    touch("asked")
first.wait()
if rank == 0:
    atexit.register(touch, "ends")
else:
    wait_for("ends")
    first.then(reduce_again)
"""


class Programs(unittest.TestCase):
    def test_an_exit_without_destroy_leaves_nothing(self):
        before = os.listdir("/dev/shm")
        for program in (EXITS_AT_ONCE, ENDS_IN_A_CALLBACK):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-c", TWO_RANKS, program, folder], capture_output=True, text=True, timeout=ranks.SECONDS, check=True)
                said = [pathlib.Path(folder, f"said-{rank}").read_text(encoding="utf-8") for rank in range(2)]
            self.assertEqual(done.stdout, "[0, 0]\n", said)
            self.assertEqual([text.splitlines()[-1:] for text in said], [["sum 2"]] * 2)
        self.assertEqual(folders.left_in_dev_shm(before), set())

    def test_pip_shows_how_far_the_build_is(self):
        program = ("import subprocess, sys; sys.path.insert(0, sys.argv[1]); import from_root\n"
                   "with from_root._progress(): subprocess.run(['printf', r'[1/40] a\\n[20/40] b\\n[40/40] c\\n'], check=True)\n")
        folder = pathlib.Path(__file__).resolve().parents[1] / "build_backend"
        with tempfile.TemporaryFile() as log:
            pid, terminal = pty.fork()
            if pid == 0:
                os.dup2(log.fileno(), 1)
                os.execv(sys.executable, [sys.executable, "-c", program, str(folder)])
            shown = b""
            with contextlib.suppress(OSError):  # The terminal ends so when all have left it.
                while piece := os.read(terminal, 4096):
                    shown += piece
            self.assertEqual(os.waitpid(pid, 0)[1], 0, shown)
            os.close(terminal)
            log.seek(0)
            self.assertEqual(log.read(), b"[1/40] a\n[20/40] b\n[40/40] c\n")
        self.assertEqual([line.strip() for line in shown.decode().split("\n") if line.strip()],
                         [f"sumac_collectives: {n} of 40 steps of the build are done" for n in (1, 20, 40)])

    def test_the_order_of_imports_does_not_matter(self):
        """The programs above import torch first."""
        program = "import sumac_collectives.torch; import torch.distributed as dist; print('sumac' in dist.Backend.backend_list)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=ranks.SECONDS, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
