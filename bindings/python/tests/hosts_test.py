"""Ranks of several hosts: each process gets the name of its host in a UTS namespace of its own, so that ranks of different names share no
memory and meet over loopback."""
import datetime
import os
import pathlib
import signal
import sys
import tempfile
import threading
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

PLACEMENTS = {"a rank a host": "abc", "two and one": "aab", "in turns": "aba"}


def on_hosts(body, hosts):
    """The body as each rank, on the host of its letter."""
    def placed(rank, size, folder, *arguments):
        ranks.become_host(f"host-{hosts[rank]}")
        return body(rank, size, folder, *arguments)
    return placed


def by_ucx(body):
    """The body with UCX between hosts."""
    def sends(rank, size, folder, *arguments):
        os.environ["SUMAC_TRANSPORT"] = "ucx"
        return body(rank, size, folder, *arguments)
    return sends


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


def posted(rank, size, folder, who_waits):
    """More than are under way at once. Nobody waits but the helper thread, one thread waits from the last to the first, or each is waited
    for by a thread of its own; meanwhile others are posted."""
    ranks.init("sumac", rank, size, folder)
    for turn in range(20):
        data = [torch.full((2 + index,), float(rank + index + turn)) for index in range(40)]
        works = [dist.all_reduce(one, async_op=True) for one in data]
        if who_waits == "nobody":
            assert ranks.comes_true(lambda: all(work.is_completed() for work in works))
        elif who_waits == "one":
            for work in reversed(works):
                work.wait()
        else:
            threads = [threading.Thread(target=work.wait) for work in works[::5]]
            for thread in threads:
                thread.start()
            more = torch.ones(3)
            dist.all_reduce(more, async_op=True).wait()
            assert bool((more == size).all())
            for thread in threads:
                thread.join()
        # A blocking call comes behind them all.
        dist.barrier()
        for index, one in enumerate(data):
            assert bool((one == size * (size - 1) / 2 + size * (index + turn)).all()), (turn, index)
    dist.destroy_process_group()


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


def orders(rank, size, folder):
    """Messages of many tags and sizes, before their receives and behind them, with collectives between them."""
    ranks.init("sumac", rank, size, folder)
    sizes = (0, 1, 3000, 4092, 4096, 300_000, 2_000_000)
    other = 1 - rank
    sent = [dist.isend(torch.full((count,), float(10 * rank + tag)), other, tag=tag) for tag, count in enumerate(sizes)]
    again = [dist.isend(torch.full((count,), float(100 + tag)), other, tag=tag) for tag, count in enumerate(sizes)]
    dist.all_reduce(torch.ones(5))
    for second in (False, True):
        for tag, count in reversed(list(enumerate(sizes))):
            x = torch.empty(count)
            dist.recv(x, other, tag=tag)
            assert torch.equal(x, torch.full((count,), float(100 + tag if second else 10 * other + tag))), (tag, second)
    for work in sent + again:
        work.wait()
    # More than a rank may send ahead, in front of the one that is awaited.
    many = [dist.isend(torch.tensor([float(i)]), other, tag=20) for i in range(300)]
    last = dist.isend(torch.tensor([-1.0]), other, tag=21)
    x = torch.empty(1)
    dist.recv(x, other, tag=21)
    assert x.item() == -1
    for i in range(300):
        dist.recv(x, other, tag=20)
        assert x.item() == i
    for work in many + [last]:
        work.wait()
    dist.barrier()
    dist.destroy_process_group()


def anyone(rank, size, folder):
    """Rank 0 receives from ranks of its host and of others by one call."""
    ranks.init("sumac", rank, size, folder)
    if rank == 0:
        for count in (2, 100_000):
            seen = []
            for _ in range(2 * (size - 1)):
                x = torch.empty(count)
                sender = dist.recv(x, tag=count)
                assert torch.equal(x, torch.full((count,), float(sender + 10 * seen.count(sender)))), sender
                seen.append(sender)
            assert sorted(seen) == sorted(2 * list(range(1, size))), seen
    else:
        for count in (2, 100_000):
            for turn in range(2):
                dist.send(torch.full((count,), float(rank + 10 * turn)), 0, tag=count)
    dist.barrier()
    dist.destroy_process_group()


def wrong_size(rank, size, folder, count):
    ranks.init("sumac", rank, size, folder)
    words = ""
    if rank == 0:
        dist.send(torch.ones(count), 1)
        dist.send(torch.ones(3), 1)
    else:
        try:
            dist.recv(torch.ones(count + 1), 0)
        except ValueError as error:
            words = str(error)
        x = torch.zeros(3)
        dist.recv(x, 0)
        assert x.sum() == 3
    dist.barrier()
    dist.destroy_process_group()
    return words


def late_message(rank, size, folder):
    """A message that is not sent in time ends with its limit, and the next one comes."""
    ranks.init("sumac", rank, size, folder, timeout=0.5)
    words = ""
    x = torch.zeros(50_000)
    if rank == 0:
        try:
            dist.recv(x, 1)
        except RuntimeError as error:
            words = str(error)
        (folder / "over").touch()
        dist.recv(x, 1, tag=1)
        assert x.sum() == 50_000
    else:
        ranks.await_file(folder / "over")
        dist.send(torch.ones(50_000), 0, tag=1)
    dist.destroy_process_group()
    return words


def dies_with_messages(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.recv(torch.ones(1), 1)
    except RuntimeError as error:
        return str(error)
    return "it came"


def leaves_with_messages(rank, size, folder):
    """A rank that has destroyed its group: what it sent comes, and nothing else."""
    ranks.init("sumac", rank, size, folder)
    if rank == 1:
        dist.send(torch.tensor([5.0]), 0)
        dist.destroy_process_group()
        return "left"
    x = torch.zeros(1)
    dist.recv(x, 1)
    try:
        dist.recv(x, 1)
    except RuntimeError as error:
        return str(error), x.item()
    return "it came"


def leaves_a_message_on_its_host(rank, size, folder):
    """Rank 1 has left, and rank 0 of its host knows it, before it asks for the message. Rank 2 is on another host."""
    ranks.init("sumac", rank, size, folder)
    x = torch.zeros(1)
    if rank == 1:
        dist.send(torch.tensor([5.0]), 0)
        dist.destroy_process_group()
        (folder / "left").touch()
        return "left"
    if rank == 2:
        ranks.await_file(folder / "left")
    for _ in range(20):
        dist.send(x, 2 - rank)
        dist.recv(x, 2 - rank)
    if rank == 2:
        return "done"
    dist.recv(x, 1)
    try:
        dist.recv(x, 1)
    except RuntimeError as error:
        return str(error), x.item()
    return "it came"


def waits_for_message(rank, size, folder):
    """Returns the processor time of one second in which only a message is awaited."""
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    if rank == 1:
        ranks.await_file(folder / "waited")
        dist.send(torch.ones(1), 0)
        dist.barrier()
        return 0.0
    work = dist.irecv(torch.ones(1), 1)
    began = time.process_time()
    try:
        work.wait(datetime.timedelta(seconds=1.0))
    except RuntimeError:
        pass
    spent = time.process_time() - began
    (folder / "waited").touch()
    work.wait()
    dist.barrier()
    return spent


def in_monitored_barrier(rank, size, folder, absent, waits_for_all):
    ranks.init("sumac", rank, size, folder)
    dist.monitored_barrier()
    words = ""
    if rank not in absent:
        try:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.5), wait_all_ranks=waits_for_all)
        except RuntimeError as error:
            words = str(error)
    # The group is still of use.
    x = torch.ones(1)
    dist.all_reduce(x)
    dist.destroy_process_group()
    return words, x.item()


def some_come(rank, size, folder, absent, is_async):
    """Some wait for the others until the limit; these then read why. On another host the operation may end before the news comes: then it is
    read in the next one."""
    ranks.init("sumac", rank, size, folder, timeout=1.0 if rank == 0 else 60.0)
    dist.barrier()
    if rank in absent:
        ranks.await_file(folder / "over")
    try:
        if is_async:
            dist.all_reduce(torch.ones(4), async_op=True).wait()
        else:
            dist.all_reduce(torch.ones(4))
        dist.barrier()
    except RuntimeError as error:
        return str(error)
    finally:
        if rank == 0:
            (folder / "over").touch()
    return "it ended"


def long_waited_for(rank, size, folder):
    """Rank 1 comes when rank 0 has complained; returns what rank 0 says."""
    said = folder / "said"
    if rank == 0:
        os.dup2(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND), 2)
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    while rank == 1 and "has waited" not in said.read_text(encoding="utf-8"):
        time.sleep(0.05)  # The folder is all that the two share.
    dist.all_reduce(torch.ones(4))
    dist.barrier()
    dist.destroy_process_group()
    return "\n".join(line for line in said.read_text(encoding="utf-8").splitlines() if line.startswith("sumac: rank"))


def differs(rank, size, folder):
    """Two ranks of one host differ; the other host cannot see it."""
    ranks.init("sumac", rank, size, folder)
    try:
        for _ in range(2):
            dist.all_reduce(torch.ones(3 if rank == 1 else 2))
    except (RuntimeError, ValueError) as error:
        return str(error)
    return "it ended"


def odd_variable(rank, size, folder, who, name, value):
    """One rank fails by itself while the others are in an exchange with it."""
    if rank == who:
        os.environ[name] = value
    try:
        ranks.init("sumac", rank, size, folder)
    except RuntimeError as error:
        return str(error)
    return "it came up"


def absent(rank, size, folder):
    """The store's own limit is its default of 300 s."""
    if rank == 1:
        return "absent"
    began = time.monotonic()
    try:
        ranks.init("sumac", rank, size, folder, timeout=1.0)
    except RuntimeError as error:
        return str(error), time.monotonic() - began
    return "it came up"


def other_variables(rank, size, folder):
    os.environ["SUMAC_REPRODUCIBLE"] = str(rank)
    ranks.init("sumac", rank, size, folder)
    dist.barrier()


def again(rank, size, folder):
    """The store outlives its groups, as torchrun's does, with the keys of each."""
    store = dist.FileStore(str(folder / "store"), size)
    for _ in range(3):
        dist.init_process_group("sumac", store=store, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=20))
        x = torch.ones(1)
        dist.all_reduce(x)
        assert x.item() == size
        dist.destroy_process_group()


def read_by_others(rank, size, folder):
    """FileStore's file is readable for all users of the machine."""
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    kept = (folder / "store").read_bytes()
    assert b"sumac/" in kept
    assert b"SP2p" not in kept, "an introduction of src/p2p, which has a key, stands in the store as it is"


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


def explained(rank, size, folder):
    """What rank 0 prints of the choices."""
    kept = os.dup(2)
    with open(folder / f"stderr-{rank}", "w+") as text:
        os.dup2(text.fileno(), 2)
        ranks.init("sumac", rank, size, folder)
        x = torch.ones(4)
        dist.all_reduce(x)
        assert x.tolist() == [size] * 4
        dist.barrier()
        dist.destroy_process_group()
        os.dup2(kept, 2)
        text.seek(0)
        return text.read()


class Works(unittest.TestCase):
    def each_placement(self, body, *arguments):
        for name, hosts in PLACEMENTS.items():
            with self.subTest(name):
                ranks.values(self, on_hosts(body, hosts), len(hosts), *arguments)

    def test_reductions(self):
        self.each_placement(torch_test.reductions)

    def test_movements(self):
        self.each_placement(torch_test.movements)

    def test_operations_that_are_posted_together(self):
        self.each_placement(posted, "threads")
        for who_waits in ("nobody", "one"):
            ranks.values(self, on_hosts(posted, PLACEMENTS["two and one"]), 3, who_waits)

    def test_groups_that_come_and_go(self):
        self.each_placement(torch_test.groups)

    def test_a_store_that_outlives_its_groups(self):
        self.each_placement(again)

    def test_a_store_that_others_read_has_no_key(self):
        self.each_placement(read_by_others)

    def test_ddp_has_the_losses_of_one_host(self):
        there = ranks.values(self, on_hosts(torch_test.ddp, "ab"), 2, "sumac")
        self.assertEqual(there, ranks.values(self, torch_test.ddp, 2, "sumac"))


class Explain(unittest.TestCase):
    def test_it_names_the_algorithm_among_leaders(self):
        os.environ["SUMAC_EXPLAIN"] = "1"
        self.addCleanup(os.environ.pop, "SUMAC_EXPLAIN")
        text = ranks.values(self, on_hosts(explained, "aabc"), 4)[0]
        by = "leaders: shared memory inside the hosts, messages among their leaders by"
        self.assertRegex(text, f'allreduce +1 to .*{by} "(doubling|exchange)"')
        self.assertRegex(text, f'allreduce +from .*{by} "(ring|blocks)"')
        self.assertRegex(text, f'barrier +any size.*{by} "(doubling|exchange)"')
        self.assertRegex(text, 'alltoall +1 to .*one message for each pair of hosts, by their leaders(;|$)')


class Reproducible(unittest.TestCase):
    def test_sums_have_the_same_bits_for_any_placement(self):
        os.environ["SUMAC_REPRODUCIBLE"] = "1"
        self.addCleanup(os.environ.pop, "SUMAC_REPRODUCIBLE")
        one_host = ranks.values(self, on_hosts(sums, "aaaaa"), 5)
        for hosts in ("abcde", "aabbc", "ababa", "aaabb"):
            self.assertEqual(ranks.values(self, on_hosts(sums, hosts), 5), one_host, hosts)
        if (pathlib.Path(os.environ["SUMAC_HOME"]) / "lib" / "libsumac_net_ucx.so").exists():
            self.assertEqual(ranks.values(self, by_ucx(on_hosts(sums, "aabbc")), 5), one_host, "by ucx")


class Fails(unittest.TestCase):
    def test_a_rank_of_another_host_that_does_not_come(self):
        text = ranks.run(on_hosts(left_waiting, "ab"), 2)[0].value
        self.assertRegex(text, "(?s)all_?reduce.*timed out after 2000 ms at rank 0")

    def test_a_leader_that_dies_is_named_by_its_rank_in_the_group(self):
        found = ranks.run(on_hosts(dies, "aabb"), 4, 2)
        for rank in (0, 1):
            self.assertIn("rank 2 (host host-b) is lost", found[rank].value)
        self.assertIn("rank 2", found[3].value)

    def test_a_rank_that_does_not_lead_and_dies_is_named_on_all_hosts(self):
        found = ranks.run(on_hosts(dies, "aabb"), 4, 3)
        for rank in (0, 1, 2):
            self.assertRegex(found[rank].value, r"rank 3 \(.*\) (is lost|died)")

    def test_a_line_names_who_keeps_the_others_waiting(self):
        lines = ranks.values(self, on_hosts(long_waited_for, "ab"), 2)[0].splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^sumac: rank 0 \(host host-a\) has waited 10 s in allreduce .*: rank 1 \(host host-b\) has not begun it$")

    def test_who_does_not_come_is_named_by_rank_and_host_and_all_hosts_read_it(self):
        for is_async in (False, True):
            for hosts, absent, names in (("ab", (1,), "rank 1 (host host-b) has"), ("aabb", (3,), "rank 3 (host host-b) has"),
                                         ("abab", (1, 2), "rank 1 (host host-b), rank 2 (host host-a) have")):
                with self.subTest(hosts=hosts, absent=absent, is_async=is_async):
                    for one in ranks.run(on_hosts(some_come, hosts), len(hosts), absent, is_async):
                        self.assertIn(f"timed out after 1000 ms at rank 0: {names} not begun it", str(one.value or one.error))

    def test_ranks_of_one_host_that_differ_are_named_on_all(self):
        for one in ranks.run(on_hosts(differs, "aabb"), 4):
            self.assertRegex(str(one.value), "the ranks differ: operation [12] is allreduce of .* at rank . and allreduce of .* at rank .")

    def test_every_rank_of_every_host_learns_that_the_ranks_differ(self):
        for hosts in ("abcd", "aabb"):
            cases = [*((what, "barrier") for what in unlike.UNLIKE), ("broadcast", "destroy")]
            unlike.check(self, on_hosts(unlike.unlike, hosts), cases,
                         "the ranks differ: |all members must call the same")

    def test_ctrl_c_on_one_host_is_named_on_the_others(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            started = ranks.start(on_hosts(torch_test.interrupted, "ab"), 2, folder)
            ranks.await_file(folder / "waits")
            os.kill(started[0][0], signal.SIGINT)
            found = ranks.end(started)
        self.assertTrue(found[0].error.startswith("KeyboardInterrupt"), found[0].error)
        # The signal may come before the call, whose rank then ends as any process does.
        self.assertRegex(found[1].error, r"rank 0 was interrupted|rank 0 \(host host-a\) is lost")

    def test_a_rank_that_fails_while_the_group_is_made_is_named_on_all(self):
        for who, name, value, reason in ((1, "HCOLL_ENABLE_SHARP", "x", "HCOLL_ENABLE_SHARP=x: expected a whole number"),
                                         (0, "SUMAC_NET_DEVICE", "nope0", "interface nope0 has no IPv4 or IPv6 address")):
            for rank, text in enumerate(ranks.values(self, on_hosts(odd_variable, "aab"), 3, who, name, value)):
                self.assertIn(reason, text)
                self.assertEqual(f"rank {who} (host host-a): " in text, rank != who, text)

    def test_the_timeout_of_a_group_is_that_of_its_making(self):
        text, seconds = ranks.values(self, on_hosts(absent, "ab"), 2)[0]
        self.assertIn("rank 0 of 2: waiting for rank 1 to join: not there within 5000 ms", text)
        self.assertLess(seconds, 60)

    def test_variables_that_differ_are_named_without_mpirun(self):
        for one in ranks.run(on_hosts(other_variables, "ab"), 2):
            self.assertIn("rank 1 has other HCOLL_*, SUMAC_TEAM_*, SUMAC_SHM_* or SUMAC_REPRODUCIBLE variables than rank 0: "
                          "set them alike on all machines", one.error)


class Messages(unittest.TestCase):
    def test_messages_as_on_one_host(self):
        for hosts in ("abc", "aab", "aba"):
            ranks.values(self, on_hosts(torch_test.messages, hosts), 3)

    def test_order_by_sender_and_tag(self):
        ranks.values(self, on_hosts(orders, "ab"), 2)

    def test_from_any_rank_of_any_host(self):
        for hosts in ("abcd", "aabb", "abab"):
            ranks.values(self, on_hosts(anyone, hosts), 4)

    def test_another_size_is_an_error_at_the_receiver(self):
        for count in (4, 100_000):
            words = ranks.values(self, on_hosts(wrong_size, "ab"), 2, count)
            self.assertEqual(words[0], "")
            self.assertIn(f"the message has {4 * count} B and the receiver's buffer {4 * count + 4} B", words[1])

    def test_a_limit_names_rank_and_host_and_the_next_one_comes(self):
        words = ranks.values(self, on_hosts(late_message, "ab"), 2)[0]
        self.assertIn("rank 0: timed out after 500 ms: message with rank 1 (host host-b)", words)

    def test_a_sender_that_dies_is_named(self):
        self.assertIn("rank 1 (host host-b) is lost", ranks.run(on_hosts(dies_with_messages, "ab"), 2)[0].value)

    def test_a_sender_that_leaves_is_named_and_what_it_sent_comes(self):
        found = ranks.values(self, on_hosts(leaves_with_messages, "ab"), 2)
        self.assertEqual(found[0], ("rank 0: rank 1 (host host-b) has left the process group", 5.0))

    def test_a_goodbye_overtakes_no_message_inside_a_host(self):
        found = ranks.values(self, on_hosts(leaves_a_message_on_its_host, "aab"), 3)
        self.assertEqual(found[0], ("rank 0: rank 1 (host host-a) has left the process group", 5.0))

    def test_a_rank_that_waits_for_one_does_not_spin(self):
        self.assertLess(ranks.values(self, on_hosts(waits_for_message, "ab"), 2)[0], 0.5)


class MonitoredBarrier(unittest.TestCase):
    def test_it_names_ranks_and_hosts_and_leaves_the_group(self):
        for hosts, absent, waits_for_all, words in (
                ("abc", (1,), False, "Rank 1 failed to pass monitoredBarrier in 500 ms: rank 1 (host host-b)"),
                ("aab", (1, 2), False, "Rank 1 failed to pass monitoredBarrier in 500 ms: rank 1 (host host-a)"),
                ("aab", (1, 2), True, "Ranks 1, 2 failed to pass monitoredBarrier in 500 ms: rank 1 (host host-a), rank 2 (host host-b)")):
            with self.subTest(hosts=hosts, absent=absent):
                answers = ranks.values(self, on_hosts(in_monitored_barrier, hosts), 3, absent, waits_for_all)
                self.assertEqual(answers[0][0], f"[Rank 0]: {words}")
                for rank in {1, 2} - set(absent):
                    self.assertRegex(answers[rank][0], f"Rank {rank} successfully reached monitoredBarrier, .* from rank 0, which did not answer in 500 ms")
                self.assertEqual([value for _, value in answers], [3.0] * 3)


if __name__ == "__main__":
    unittest.main()
