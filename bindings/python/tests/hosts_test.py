"""Ranks of several hosts: each process gets the name of its host in a UTS namespace of its own, so that ranks of different names share no
memory and meet over loopback."""
import os
import signal
import sys
import unittest

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import ranks
import torch_test

PLACEMENTS = {"a rank a host": "abc", "two and one": "aab", "in turns": "aba"}


def on_hosts(body, hosts):
    """The body as each rank, on the host of its letter."""
    def placed(rank, size, folder, *arguments):
        ranks.become_host(f"host-{hosts[rank]}")
        return body(rank, size, folder, *arguments)
    return placed


def sums(rank, size, folder):
    """The bits of a sum whose order matters, in three sizes, and of a reduce_scatter."""
    ranks.init("sumac", rank, size, folder)
    bits = []
    for count in (1, 5000, 300000):
        x = torch.randn(count, generator=torch.Generator().manual_seed(7 * count + rank)) * 10.0 ** (rank % 5)
        dist.all_reduce(x)
        bits.append(hash(x.numpy().tobytes()))
    blocks = torch.randn(size * 50, generator=torch.Generator().manual_seed(rank)) * 10.0 ** (rank % 3)
    out = torch.empty(50)
    dist.reduce_scatter_tensor(out, blocks)
    dist.all_reduce(out)
    bits.append(hash(out.numpy().tobytes()))
    dist.destroy_process_group()
    return bits


def left_waiting(rank, size, folder):
    """Rank 1, of another host, never calls."""
    ranks.init("sumac", rank, size, folder, timeout=2.0)
    if rank == 1:
        ranks.await_file(folder / "over")
        os._exit(0)
    try:
        dist.all_reduce(torch.ones(4))
    except RuntimeError as error:
        (folder / "over").touch()
        return str(error)
    return "it ended"


def letters(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    try:
        dist.send(torch.ones(1), 1 - rank)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return "it was sent"


def dies(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    dist.all_reduce(torch.ones(4))
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(torch.ones(4))
    except RuntimeError as error:
        return str(error)


class Works(unittest.TestCase):
    def each_placement(self, body):
        for name, hosts in PLACEMENTS.items():
            with self.subTest(name):
                ranks.values(self, on_hosts(body, hosts), len(hosts))

    def test_reductions(self):
        self.each_placement(torch_test.reductions)

    def test_movements(self):
        self.each_placement(torch_test.movements)

    def test_groups_that_come_and_go(self):
        self.each_placement(torch_test.groups)

    def test_ddp_has_the_losses_of_one_host(self):
        there = ranks.values(self, on_hosts(torch_test.ddp, "ab"), 2, "sumac")
        self.assertEqual(there, ranks.values(self, torch_test.ddp, 2, "sumac"))


class Reproducible(unittest.TestCase):
    def test_sums_have_the_same_bits_for_any_placement(self):
        os.environ["SUMAC_REPRODUCIBLE"] = "1"
        self.addCleanup(os.environ.pop, "SUMAC_REPRODUCIBLE")
        one_host = ranks.values(self, on_hosts(sums, "aaaaa"), 5)
        for hosts in ("abcde", "aabbc", "ababa", "aaabb"):
            self.assertEqual(ranks.values(self, on_hosts(sums, hosts), 5), one_host, hosts)


class Fails(unittest.TestCase):
    def test_a_rank_of_another_host_that_does_not_come(self):
        text = ranks.run(on_hosts(left_waiting, "ab"), 2)[0].value
        self.assertRegex(text, "(?s)all_?reduce.*timed out after 2000 ms at rank 0")

    def test_a_leader_that_dies_is_named_by_its_rank_in_the_group(self):
        found = ranks.run(on_hosts(dies, "aabb"), 4)
        for rank in (0, 1):
            self.assertIn("rank 2 (host host-b) is lost", found[rank].value)
        self.assertIn("rank 2", found[3].value)

    def test_messages_to_another_host_are_refused_by_name(self):
        for rank, text in enumerate(ranks.values(self, on_hosts(letters, "ab"), 2)):
            self.assertIn(f"rank {1 - rank} (host host-{'ba'[rank]}) is on another one", text)


if __name__ == "__main__":
    unittest.main()
