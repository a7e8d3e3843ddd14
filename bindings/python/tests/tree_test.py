"""The aggregation tree under Python: jobs that start their own daemons. Each process has a host name of its own, as in hosts_test.py."""
import contextlib
import datetime
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time
import unittest

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import ranks
import torch_test
import unlike
from hosts_test import explained, on_hosts, posted, sums


def processes_below(pid):
    """All processes below a process that are alive: {pid: name}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                name, rest = (entry / "stat").read_text().rsplit(")", 1)
                state, parent = rest.split()[:2]
                if state != "Z":
                    found[int(entry.name)] = (int(parent), name.split("(", 1)[1])
    below, todo = {}, [pid]
    while todo:
        parent = todo.pop()
        for child, (its_parent, name) in found.items():
            if its_parent == parent:
                below[child] = name
                todo.append(child)
    return below


def descendants(pid):
    return list(processes_below(pid).values())


def daemons_left(folder):
    """Daemons whose files lie in `folder`, which is TMPDIR of the ranks that started them."""
    left = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if words[0].rsplit("/", 1)[-1].startswith("sharp") and any(word.startswith(str(folder)) for word in words):
                    left.append(" ".join(words))
    return left


def none_left(folder):
    """Waits until the daemons have ended and their folders are gone; they notice the death of their process by themselves."""
    def over():
        return not daemons_left(folder) and not list(pathlib.Path(folder).glob("sumac-run-*"))
    return ranks.comes_true(over)


@contextlib.contextmanager
def variables(**values):
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def twice(rank, size, folder):
    """A group is destroyed and made again: another job, with other daemons."""
    for name in ("one", "two"):
        ranks.init("sumac", rank, size, folder, name=name)
        x = torch.tensor([rank + 1.0])
        dist.all_reduce(x)
        assert x.item() == size * (size + 1) / 2
        dist.destroy_process_group()
    return descendants(os.getpid())


def destroyed_beside_a_child(rank, size, folder):
    """The group is destroyed while a child that was forked in between lives on, as a DataLoader's worker may."""
    ranks.init("sumac", rank, size, folder)
    dist.all_reduce(torch.ones(4))
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writes)
        os.read(reads, 1)
        os._exit(0)
    os.close(reads)
    dist.destroy_process_group()
    left = descendants(os.getpid())
    os.close(writes)
    os.waitpid(child, 0)
    return len(left)


def dies(rank, size, folder, culprit):
    ranks.init("sumac", rank, size, folder)
    dist.all_reduce(torch.ones(4))
    if rank == culprit:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(torch.ones(4))
    except RuntimeError as error:
        return str(error)


def leaves_without_a_word(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    x = torch.ones(4)
    dist.all_reduce(x)
    return x.tolist()


def destroys(rank, size, folder):
    """Rank 0 destroys its group, with a reference to it that stays. The others do so when it has said for whom it waits. Returns
    what it writes meanwhile."""
    ranks.init("sumac", rank, size, folder)
    world = dist.group.WORLD
    dist.all_reduce(torch.ones(4))
    said = folder / "said"
    if rank == 0:
        kept = os.dup(2)
        with open(said, "w", encoding="utf-8") as text:
            os.dup2(text.fileno(), 2)
        dist.destroy_process_group()
        os.dup2(kept, 2)
    else:
        assert ranks.comes_true(lambda: said.exists() and "waits" in said.read_text(encoding="utf-8"))
        dist.destroy_process_group()
    del world
    return said.read_text(encoding="utf-8")


def is_interrupted(rank, size, folder):
    """Rank 0 destroys its group, and rank 1 sends it Ctrl-C when it has said for whom it waits. Rank 1 destroys its own when rank 0
    is through. Returns how rank 0's call ended, and what it wrote."""
    ranks.init("sumac", rank, size, folder)
    world = dist.group.WORLD
    dist.all_reduce(torch.ones(4))
    said, through, end = folder / "said", folder / "through", ""
    if rank == 0:
        (folder / "rank-0").write_text(str(os.getpid()), encoding="utf-8")
        kept = os.dup(2)
        with open(said, "w", encoding="utf-8") as text:
            os.dup2(text.fileno(), 2)
        try:
            dist.destroy_process_group()
        except KeyboardInterrupt:
            end = "interrupted"
        del world
        os.dup2(kept, 2)
        through.touch()
    else:
        assert ranks.comes_true(lambda: said.exists() and "waits" in said.read_text(encoding="utf-8"))
        os.kill(int((folder / "rank-0").read_text(encoding="utf-8")), signal.SIGINT)
        ranks.await_file(through)
        dist.destroy_process_group()
        del world
    return end, said.read_text(encoding="utf-8")


def goes_first(rank, size, folder):
    """Rank 1, with which no daemons end, leads its host in a group and destroys first; the others do so when it is through. Then
    all begin again, twice. Returns what rank 1 writes."""
    said = folder / "said"
    if rank == 1:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
    for turn in range(3):
        ranks.init("sumac", rank, size, folder, name=f"store{turn}")
        pair = dist.new_group([1, 2])
        if rank > 0:
            dist.all_reduce(torch.ones(4), group=pair)
        if rank != 1:
            ranks.await_file(folder / f"destroyed{turn}")
        dist.destroy_process_group()
        if rank == 1:
            (folder / f"destroyed{turn}").touch()
    return said.read_text(encoding="utf-8")


def keeps_a_reference(rank, size, folder):
    """All ranks destroy their groups, and rank 1 keeps a reference to its own until rank 0 is through. Returns what that writes."""
    ranks.init("sumac", rank, size, folder)
    group = dist.new_group([0, 1])
    dist.all_reduce(torch.ones(4), group=group)
    said = folder / "said"
    if rank == 1:
        dist.destroy_process_group()
        ranks.await_file(folder / "destroyed")
        del group
        return said.read_text(encoding="utf-8")
    del group
    kept = os.dup(2)
    with open(said, "w", encoding="utf-8") as text:
        os.dup2(text.fileno(), 2)
    dist.destroy_process_group()
    os.dup2(kept, 2)
    (folder / "destroyed").touch()
    return said.read_text(encoding="utf-8")


def elsewhere(rank, size, folder):
    """Ranks 0 and 1 have a job of the tree, and then a group with rank 2 asks for the tree."""
    ranks.init("sumac", rank, size, folder)
    os.environ["HCOLL_ENABLE_SHARP"] = "2"
    dist.new_group([0, 1])
    try:
        dist.new_group([0, 1, 2])
    except RuntimeError as error:
        return str(error)


def refused(rank, size, folder, levels, variable="HCOLL_ENABLE_SHARP"):
    os.environ[variable] = levels[rank]
    try:
        ranks.init("sumac", rank, size, folder)
    except RuntimeError as error:
        return str(error)
    dist.destroy_process_group()
    return "it came up"


def gives_up(rank, size, folder, count):
    """Rank 1 gives up an operation and fills its memory anew, then rank 0 comes. Returns what rank 0 hears, or rank 1's memory."""
    ranks.init("sumac", rank, size, folder)
    one = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=1 if rank == 1 else ranks.SECONDS))
    other = dist.new_group([0, 1])
    for group in (one, other):
        dist.all_reduce(torch.ones(1), group=group)
    x = torch.full((count,), rank + 1.0)
    heard = None
    if rank == 0:
        ranks.await_file(folder / "given-up")
        try:
            dist.all_reduce(x, group=one)
        except RuntimeError as error:
            heard = str(error)
    else:
        try:
            dist.all_reduce(x, group=one)
        except RuntimeError:
            x.fill_(-5)
        (folder / "given-up").touch()
    y = torch.ones(1)
    dist.all_reduce(y, group=other)
    assert y.item() == 2
    del one, other
    dist.destroy_process_group()
    return heard if rank == 0 else x.unique().tolist()


def differ(rank, size, folder):
    """The ranks differ in the type, and then in the operation. Returns what they hear of it."""
    ranks.init("sumac", rank, size, folder)
    heard = []
    for dtype, op in ((torch.int32 if rank else torch.float32, dist.ReduceOp.SUM), (torch.float32, dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)):
        group = dist.new_group([0, 1])
        try:
            dist.all_reduce(torch.ones(4, dtype=dtype), op, group=group)
        except (RuntimeError, ValueError) as error:
            heard.append(str(error))
    dist.destroy_process_group()
    return heard


def timed(rank, size, folder):
    began = time.monotonic()
    try:
        ranks.init("sumac", rank, size, folder, timeout=5.0)
        return "it came up"
    except (RuntimeError, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}", time.monotonic() - began


class SilentSharpd:
    """Something that listens as a sharpd does, and never answers."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(16)

    def await_question(self):
        """Waits until a process asks something; one that only looks whether somebody listens does not."""
        while True:
            client, _ = self.socket.accept()
            if client.recv(1):
                return client


def beside_a_frozen_node(rank, size, folder):
    """The job's node is stopped, and then another group is made. Returns the sum of its ranks."""
    ranks.init("sumac", rank, size, folder)
    nodes = [pid for pid, name in processes_below(os.getpid()).items() if name == "sharp_an"]
    assert (rank == 0) == bool(nodes), nodes
    for pid in nodes:
        os.kill(pid, signal.SIGSTOP)
    try:
        group = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=4))
        x = torch.tensor([rank + 1.0])
        dist.all_reduce(x, group=group)
        del group
    finally:
        for pid in nodes:
            os.kill(pid, signal.SIGCONT)
    dist.destroy_process_group()
    return x.item()


def patient(rank, size, folder):
    try:
        ranks.init("sumac", rank, size, folder, timeout=3600.0)
    except RuntimeError as error:
        return str(error)


def program_that_hangs(folder):
    """An installation whose `sumac` answers nothing; its file `started` says that somebody has started it."""
    (folder / "bin").mkdir()
    (folder / "bin/sumac").write_text(f"#!/bin/sh\n: > {folder}/started\nexec sleep 1000\n", encoding="utf-8")
    (folder / "bin/sumac").chmod(0o755)


class Tree(unittest.TestCase):
    def setUp(self):
        tempfile.gettempdir()  # It is remembered: TMPDIR is for the daemons alone.
        self.folder = self.enterContext(ranks.short_folder())
        self.enterContext(variables(HCOLL_ENABLE_SHARP="3", TMPDIR=self.folder))

    def tearDown(self):
        self.assertTrue(none_left(self.folder), daemons_left(self.folder))

    def test_it_carries_what_is_small_and_says_so(self):
        with variables(SUMAC_EXPLAIN="1"):
            text = ranks.values(self, on_hosts(explained, "aab"), 3)[0]
        self.assertRegex(text, "allreduce +1 to [0-9]+ B +tree: ")
        self.assertRegex(text, "alltoall +1 to .*leaders: .*not by the tree: it does no alltoall")

    def test_all_collectives(self):
        for hosts in ("abc", "aba"):
            with self.subTest(hosts):
                ranks.values(self, on_hosts(torch_test.reductions, hosts), 3)
                ranks.values(self, on_hosts(torch_test.movements, hosts), 3)

    def test_operations_that_are_posted_together(self):
        for who_waits in ("nobody", "one", "threads"):
            ranks.values(self, on_hosts(posted, "aab"), 3, who_waits)

    def test_groups_that_come_and_go(self):
        ranks.values(self, on_hosts(torch_test.groups, "aab"), 3)

    def test_a_job_ends_with_its_last_group(self):
        self.assertEqual(ranks.values(self, on_hosts(twice, "ab"), 2), [[], []])

    def test_a_job_ends_beside_a_forked_child(self):
        self.assertEqual(ranks.values(self, on_hosts(destroyed_beside_a_child, "ab"), 2), [1, 1])

    def test_sums_have_the_bits_of_one_host(self):
        with variables(SUMAC_REPRODUCIBLE="1"):
            one_host = ranks.values(self, on_hosts(sums, "aaaaa"), 5)
            for hosts in ("abcde", "aabbc", "ababa"):
                self.assertEqual(ranks.values(self, on_hosts(sums, hosts), 5), one_host, hosts)

    def test_ddp_has_the_losses_of_one_host(self):
        with variables(SUMAC_REPRODUCIBLE="1"):
            there = ranks.values(self, on_hosts(torch_test.ddp, "abcd"), 4, "sumac")
            self.assertEqual(there, ranks.values(self, torch_test.ddp, 4, "sumac"))

    def test_a_rank_that_dies_takes_its_daemons_with_it_and_is_named(self):
        found = ranks.run(on_hosts(dies, "aab"), 3, 2)  # Among the leaders it is the second one.
        for rank in range(2):
            self.assertRegex(found[rank].value, r"rank 2 \(host host-b\)|node")

    def test_what_a_rank_gave_up_is_neither_read_nor_written_and_fails_elsewhere(self):
        for count in (3, 20000):
            with self.subTest(count):
                heard, memory = ranks.values(self, on_hosts(gives_up, "ab"), 2, count)
                self.assertRegex(str(heard), "allreduce .*timed out after 1000 ms at rank 1: rank 0 .* has not begun it")
                self.assertEqual(memory, [-5])

    def test_exit_without_destroy_leaves_nothing(self):
        self.assertEqual(ranks.values(self, on_hosts(leaves_without_a_word, "ab"), 2), [[2.0] * 4] * 2)

    def test_ranks_that_ask_for_different_things(self):
        for rank, text in enumerate(ranks.values(self, on_hosts(refused, "ab"), 2, "13")):
            self.assertIn(f"HCOLL_ENABLE_SHARP differs between rank {rank} (host host-{'ab'[rank]})", text)
        for rank, text in enumerate(ranks.values(self, on_hosts(refused, "ab"), 2, "13", "HCOLL_SHARP_NP")):
            self.assertIn(f"HCOLL_SHARP_NP differs between rank {rank} (host host-{'ab'[rank]})", text)

    def test_no_installation(self):
        with variables(SUMAC_HOME="/nonexistent", PATH="/nonexistent"):
            for text in ranks.values(self, on_hosts(refused, "ab"), 2, "22"):
                self.assertIn("must have the tree, and there is none: rank 0 (host host-a): there is no `sumac`", text)
            self.assertEqual(ranks.values(self, on_hosts(refused, "ab"), 2, "11"), ["it came up"] * 2)

    def test_a_folder_is_no_program(self):
        home = pathlib.Path(self.enterContext(ranks.short_folder()))
        (home / "bin/sumac").mkdir(parents=True)
        with variables(SUMAC_HOME=str(home), PATH="/nonexistent"):
            for text in ranks.values(self, on_hosts(refused, "ab"), 2, "22"):
                self.assertIn("there is no `sumac` in SUMAC_HOME/bin or on the PATH", text)

    def test_a_program_that_hangs(self):
        home = pathlib.Path(self.enterContext(ranks.short_folder()))
        program_that_hangs(home)
        with variables(SUMAC_HOME=str(home)):
            for text, seconds in ranks.values(self, on_hosts(timed, "ab"), 2):
                self.assertRegex(text, "there is none: rank [01] .*/bin/sumac run-host did not answer in time")
                self.assertLess(seconds, 40)
            (home / "started").unlink()
            with tempfile.TemporaryDirectory() as name:
                started = ranks.start(on_hosts(timed, "ab"), 2, pathlib.Path(name))
                ranks.await_file(home / "started")
                os.kill(started[0][0], signal.SIGINT)
                found = ranks.end(started)
        self.assertRegex(str(found[0].value or found[0].error), "KeyboardInterrupt")
        self.assertRegex(str(found[1].value), r"rank 0 \(host host-a\): it was interrupted|did not answer in time|waiting for rank 0")

    def test_a_reference_that_is_kept_keeps_nobody_waiting(self):
        self.assertEqual(ranks.values(self, on_hosts(keeps_a_reference, "ab"), 2), ["", ""])

    def test_a_rank_with_which_daemons_end_says_for_whom_it_waits(self):
        for text in ranks.values(self, on_hosts(destroys, "aab"), 3):
            self.assertRegex(text, r"waits for rank 1 \(host host-a\), rank 2 \(host host-b\), and at most 30 s")

    def test_ctrl_c_ends_the_wait_for_others_in_destroy(self):
        (end, said), _ = ranks.values(self, on_hosts(is_interrupted, "ab"), 2)
        self.assertEqual(end, "interrupted")
        self.assertNotIn("was not left", said)  # It says so after 30 s.

    def test_a_rank_that_nobody_needs_does_not_wait(self):
        self.assertEqual(ranks.values(self, on_hosts(goes_first, "aab"), 3), [""] * 3)

    def test_ranks_that_differ_are_told_in_words(self):
        for texts in ranks.values(self, on_hosts(differ, "ab"), 2):
            self.assertRegex(texts[0], r"rank [01] \(host host-[ab]\) differs from rank [01] .* in dtype: (int32, not float32|float32, not int32)")
            self.assertRegex(texts[1], r"rank [01] \(host host-[ab]\) differs from rank [01] .* in op: (max, not sum|sum, not max)")

    def test_every_rank_learns_that_the_ranks_differ(self):
        cases = [(what, "barrier") for what in ("broadcast", "all_gather", "mean", "broadcast and all_reduce")]
        unlike.check(self, on_hosts(unlike.unlike, "abcd"), cases, "differs from rank|called allreduce, rank . .* called bcast|called bcast, rank . .* called allreduce")

    def test_ranks_in_different_jobs(self):
        with variables(HCOLL_ENABLE_SHARP="0"):
            for text in ranks.values(self, on_hosts(elsewhere, "abc"), 3):
                self.assertRegex(str(text), r"HCOLL_ENABLE_SHARP=2 must have the tree, and there is none: rank 2 \(host host-c\) is not "
                                 r"in the same job of the tree as rank 0 \(host host-a\)")

    def test_a_sharpd_that_is_silent_leaves_time_for_messages(self):
        sharpd = SilentSharpd(f"{self.folder}/silent.sock")
        limit = {"SHARP_COLL_JOB_CREATE_TIMEOUT": "3600000"}
        with variables(HCOLL_ENABLE_SHARP="1", SHARP_COLL_SHARPD_SOCKET_NAME=sharpd.path, **limit):
            self.assertEqual(ranks.values(self, on_hosts(timed, "ab"), 2), ["it came up"] * 2)

    def test_ctrl_c_while_a_sharpd_is_silent(self):
        sharpd = SilentSharpd(f"{self.folder}/silent.sock")
        with variables(SHARP_COLL_SHARPD_SOCKET_NAME=sharpd.path, SHARP_COLL_JOB_CREATE_TIMEOUT="3600000"), \
                tempfile.TemporaryDirectory() as name:
            started = ranks.start(on_hosts(patient, "ab"), 2, pathlib.Path(name))
            clients = [sharpd.await_question() for _ in started]
            os.kill(started[0][0], signal.SIGINT)
            found = ranks.end(started)
            for client in clients:
                client.close()
        self.assertRegex(str(found[0].error), "KeyboardInterrupt")
        self.assertRegex(str(found[1].value), r"rank 0 \(host host-a\): it was interrupted")

    def test_a_node_that_is_frozen_leaves_time_for_messages(self):
        with variables(HCOLL_ENABLE_SHARP="1"):
            self.assertEqual(ranks.values(self, on_hosts(beside_a_frozen_node, "ab"), 2), [3.0, 3.0])


if __name__ == "__main__":
    unittest.main()
