"""The backend "sumac" in PyTorch, beside gloo: every collective, groups, DDP and FSDP, and what goes wrong."""
import datetime
import gc
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

try:
    import torch
    import torch._dynamo  # DDP and FSDP do it, for 1.5 s of processor time in each rank: once, for all forks
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}: make setup-python installs PyTorch")
    sys.exit(77)

import callbacks
import ranks
import unlike

torch.set_num_threads(1)
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
OPS = {"SUM": lambda s: s.sum(0), "PRODUCT": lambda s: s.prod(0), "MIN": lambda s: s.amin(0), "MAX": lambda s: s.amax(0)}
BITS = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}


def given(rank, dtype, *shape):
    """Small numbers, which every type adds up exactly."""
    count = int(torch.Size(shape).numel())
    return ((torch.arange(count) + rank) % 3).reshape(shape).to(dtype)


def fold(name, everyone):
    """What the ranks' tensors give."""
    dtype = everyone[0].dtype
    if name in BITS:
        result = everyone[0]
        for other in everyone[1:]:
            result = BITS[name](result, other)
        return result
    wide = torch.stack(everyone).to(torch.float64)
    if dtype == torch.bool:
        return wide.amax(0).bool() if name in ("SUM", "MAX") else wide.amin(0).bool()
    return OPS[name](wide).to(dtype)


def reductions(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    for dtype in [*FLOATS, *INTEGERS, torch.bool]:
        for shape in ((1,), (7, 3), (30000,)):
            everyone = [given(r, dtype, *shape) for r in range(size)]
            for name in [*OPS, *(BITS if dtype not in FLOATS else ())]:
                op, right = getattr(dist.ReduceOp, name), fold(name, everyone)
                for is_async in (False, True):
                    x = everyone[rank].clone()
                    work = dist.all_reduce(x, op, async_op=is_async)
                    if is_async:
                        assert work.wait() and work.is_completed() and work.is_success()
                    assert torch.equal(x, right), (name, dtype, shape)
                x = everyone[rank].clone()
                dist.reduce(x, 1, op)
                assert torch.equal(x, right if rank == 1 else everyone[rank])
            blocks = [given(r, dtype, size, *shape) for r in range(size)]
            out = torch.empty(shape, dtype=dtype)
            dist.reduce_scatter_tensor(out, blocks[rank], dist.ReduceOp.MAX)
            assert torch.equal(out, fold("MAX", [block[rank] for block in blocks]))
            dist.reduce_scatter(out, list(blocks[rank]), dist.ReduceOp.MIN)
            assert torch.equal(out, fold("MIN", [block[rank] for block in blocks]))
    for dtype in FLOATS:
        x = torch.full((5,), float(3 * rank), dtype=dtype)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert torch.equal(x, torch.full((5,), 1.5 * (size - 1), dtype=dtype))
    sizes = [4, 0, 9][:size]
    out = torch.empty(sizes[rank])
    dist.reduce_scatter(out, [torch.full((count,), float(r)) for r, count in enumerate(sizes)])
    assert torch.equal(out, torch.full((sizes[rank],), float(rank * size)))
    many = [torch.full((count,), float(rank + count)) for count in (3, 5)]
    dist.all_reduce_coalesced(many)
    assert [int(one[0]) for one in many] == [3 * size + 3, 5 * size + 3], many
    # Elements of a channels_last tensor lie in another order, the same at every rank.
    picture = torch.full((2, 3, 4, 4), float(rank)).to(memory_format=torch.channels_last)
    dist.all_reduce(picture)
    assert picture.eq(3.0).all()
    dist.destroy_process_group()


def movements(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    for dtype in [*FLOATS, *INTEGERS, torch.bool, torch.complex64]:
        for shape in ((1,), (7, 3), (30000,)):
            everyone = [given(r, dtype, *shape) for r in range(size)]
            mine = everyone[rank]
            x = mine.clone()
            dist.broadcast(x, 2)
            assert torch.equal(x, everyone[2])
            out = [torch.empty_like(mine) for _ in range(size)]
            dist.all_gather(out, mine)
            assert all(map(torch.equal, out, everyone))
            flat = torch.empty(size, *shape, dtype=dtype)
            dist.all_gather_into_tensor(flat, mine)
            assert torch.equal(flat, torch.stack(everyone))
            out = [torch.empty_like(mine) for _ in range(size)]
            dist.gather(mine, out if rank == 0 else None, 0)
            assert rank != 0 or all(map(torch.equal, out, everyone))
            dist.scatter(x, everyone if rank == 1 else None, 1)
            assert torch.equal(x, mine)
            blocks = [given(r, dtype, size, *shape) for r in range(size)]
            dist.all_to_all_single(flat, blocks[rank])
            assert torch.equal(flat, torch.stack([block[rank] for block in blocks]))
            dist.all_to_all(out, list(blocks[rank]))
            assert all(map(torch.equal, out, [block[rank] for block in blocks]))
    rows = [rank + r for r in range(size)]
    sent = torch.repeat_interleave(torch.arange(size), torch.tensor(rows))
    received = torch.empty(sum(rows), dtype=sent.dtype)
    work = dist.all_to_all_single(received, sent, rows, rows, async_op=True)
    work.wait()
    assert received.eq(rank).all()
    counts = [2, 0, 5][:size]
    out = [torch.empty(count) for count in counts]
    dist.all_gather(out, torch.full((counts[rank],), float(rank)))
    assert [one.tolist() for one in out] == [[float(r)] * count for r, count in enumerate(counts)]
    # Inputs of several sizes, one of them empty, are one operation.
    several = [torch.full((3,), rank), torch.empty(0, dtype=torch.long), torch.full((2, 2), 10 + rank)]
    out = [[torch.empty_like(one) for one in several] for _ in range(size)]
    dist.all_gather_coalesced(out, several)
    assert [(one[0].tolist(), one[2].tolist()) for one in out] == [([r] * 3, [[10 + r] * 2] * 2) for r in range(size)]
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "words": "x" * rank})
    assert [one["rank"] for one in objects] == list(range(size))
    dist.barrier()
    dist.monitored_barrier()
    dist.destroy_process_group()


def messages(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    big = torch.arange(500_000.0)
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.empty_like(big)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, big + rank, right), dist.P2POp(dist.irecv, got, left)]):
        work.wait()
    assert torch.equal(got, big + left)
    if rank == 0:
        # A large message that nobody receives yet must not keep a barrier.
        work = dist.isend(big, 1, tag=7)
        dist.barrier()
        work.wait()
        seen = set()
        for _ in range(size - 1):
            x = torch.empty(1)
            seen.add(dist.recv(x))
            assert int(x) in seen
        assert seen == {1, 2}
    else:
        if rank == 1:
            dist.recv(got, 0, tag=7)
            assert torch.equal(got, big)
        dist.barrier()
        dist.send(torch.tensor([float(rank)]), 0)
    dist.barrier()
    dist.destroy_process_group()


def sparse_sums(rank, size, folder):
    """Ranks have elements at places of their own and at common ones."""
    ranks.init("sumac", rank, size, folder)
    everyone = []
    for r in range(size):
        places = torch.tensor([list(range(r + 1)), [r % 2] * (r + 1)])
        everyone.append(torch.sparse_coo_tensor(places, torch.full((r + 1, 3), r + 1.0), (size, 2, 3)))
    right = sum(one.to_dense() for one in everyone)
    for is_async in (False, True):
        x = everyone[rank].clone()
        work = dist.all_reduce(x, async_op=is_async)
        if is_async:
            work.wait()
        assert x.is_sparse and torch.equal(x.to_dense(), right)
    none = torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.long), torch.empty(0), (4,))
    dist.all_reduce(none)
    assert none.to_dense().tolist() == [0] * 4
    words = []
    for x, op in ((everyone[rank], dist.ReduceOp.MAX), (torch.eye(2 + rank % 2).to_sparse(), dist.ReduceOp.SUM)):
        try:
            dist.all_reduce(x, op)
        except RuntimeError as error:
            words.append(str(error))
    dist.destroy_process_group()
    return words


def groups(rank, size, folder):
    for life in range(2):
        ranks.init("sumac", rank, size, folder, name=f"life{life}")
        pair = dist.new_group([0, 2])
        if rank != 1:
            x = torch.tensor([float(rank)])
            dist.all_reduce(x, group=pair)
            assert x.item() == 2
        split = dist.split_group(split_ranks=[[0, 1], [2]])
        x = torch.tensor([1.0])
        dist.all_reduce(x, group=split)
        assert x.item() == (1 if rank == 2 else 2)
        other = dist.new_group(backend="gloo")
        dist.barrier(group=other)
        dist.destroy_process_group()


def stores(rank, size, folder):
    """The other stores: a file's is that of all other tests."""
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, size, is_master=True, wait_for_workers=False)
        (folder / "port.new").write_text(str(store.port), encoding="utf-8")
        os.rename(folder / "port.new", folder / "port")
    else:
        ranks.await_file(folder / "port")
        store = dist.TCPStore("127.0.0.1", int((folder / "port").read_text(encoding="utf-8")), size, is_master=False)
    if rank == 1:
        ranks.await_file(folder / "waits")
        time.sleep(0.2)  # Rank 0 waits in its store meanwhile.
    kept = os.dup(2)
    with open(folder / f"stderr-{rank}", "w+", encoding="utf-8") as text:
        os.dup2(text.fileno(), 2)
        (folder / "waits").touch()
        dist.init_process_group("sumac", store=store, rank=rank, world_size=size)
        os.dup2(kept, 2)
        text.seek(0)
        said = text.read()
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == size
    dist.barrier()
    dist.destroy_process_group()
    return said


def alone(_rank, _size, _folder):
    dist.init_process_group("sumac", store=dist.HashStore(), rank=0, world_size=1)
    x = torch.arange(3.0)
    dist.all_reduce(x)
    out = torch.empty(1, 3)
    dist.all_gather_into_tensor(out, x)
    dist.barrier()
    assert out.tolist() == [[0, 1, 2]]
    dist.destroy_process_group()


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))


def train(net, rank, steps=5):
    """Returns the losses of some steps on data of this rank."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(100 * step + rank)
        x = torch.randn(16, 32, generator=generator)
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ddp(rank, size, folder, backend):
    ranks.init(backend, rank, size, folder)
    net = torch.nn.parallel.DistributedDataParallel(model(), bucket_cap_mb=0.01)
    losses = train(net, rank)
    del net
    dist.destroy_process_group()
    return losses


def fsdp(rank, size, folder, backend):
    from torch.distributed.fsdp import fully_shard

    ranks.init(backend, rank, size, folder)
    net = model()
    mesh = dist.init_device_mesh("cpu", (size,))
    for layer in net:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    losses = train(net, rank)
    del net
    gc.collect()
    dist.destroy_process_group()
    return losses


def powersgd(rank, size, folder, backend):
    """Its callbacks start operations and wait for their futures."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    ranks.init(backend, rank, size, folder, timeout=30)
    net = torch.nn.parallel.DistributedDataParallel(model())
    net.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    losses = train(net, rank)
    del net
    dist.destroy_process_group()
    return losses


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(float(index))


def data_loader(rank, size, folder):
    """Its workers are forks of a process whose helper thread may hold locks."""
    ranks.init("sumac", rank, size, folder)
    works = []
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2, multiprocessing_context="fork"):
        works.append((batch, dist.all_reduce(batch, async_op=True)))
    for batch, work in works:
        work.wait()
    assert sum(batch.sum().item() for batch, _ in works) == 28 * size
    pid = os.fork()
    if pid == 0:
        try:
            dist.all_reduce(torch.ones(1))
        except ValueError as error:
            os._exit(0 if "before a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


def in_debug_mode(rank, size, folder):
    """PyTorch wraps the backend, and compares what the ranks do over gloo."""
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    dist.set_debug_level_from_env()
    ranks.init("sumac", rank, size, folder)
    x = torch.ones(3)
    dist.all_reduce(x)
    net = torch.nn.parallel.DistributedDataParallel(model())
    train(net, rank, 2)
    try:
        dist.all_reduce(torch.ones(3 + rank))
    except RuntimeError as error:
        return str(error)
    return "it ran"


def futures(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    x = torch.ones(10)
    tripled = dist.all_reduce(x, async_op=True).get_future().then(lambda future: future.value()[0] * 3)
    assert tripled.wait().tolist() == [3.0 * size] * 10
    assert dist.all_reduce(x, async_op=True).get_future().wait()[0] is not None
    dist.destroy_process_group()


def profiled(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(torch.ones(4))
        dist.broadcast(torch.ones(4), 0, async_op=True).wait()
    # An event begins in one thread and may end in another; it has the shapes of what the caller gave.
    with torch.autograd.profiler.profile(record_shapes=True) as shaped:
        dist.all_reduce(torch.ones(4, 2))
        dist.all_gather([torch.empty(3) for _ in range(size)], torch.ones(3))
        work = dist.isend(torch.ones(5), 1) if rank == 0 else dist.irecv(torch.empty(5), 0)
        work.wait()
    dist.destroy_process_group()
    ours = [event for event in shaped.function_events if event.name.startswith("sumac:")]
    assert all(event.is_async for event in ours)
    shapes = sorted((event.name, event.input_shapes) for event in ours)
    assert shapes == [("sumac:all_gather", [[3]]), ("sumac:all_reduce", [[4, 2]]), ("sumac:send" if rank == 0 else "sumac:recv", [[5]])], shapes
    return sorted({event.key for event in profile.key_averages() if event.key.startswith("sumac:")})


class Works(unittest.TestCase):
    def test_reductions(self):
        ranks.values(self, reductions, 3)

    def test_movements(self):
        ranks.values(self, movements, 3)

    def test_messages(self):
        ranks.values(self, messages, 3)

    def test_sums_of_sparse_tensors(self):
        for words in ranks.values(self, sparse_sums, 3):
            for text, part in zip(words, ("sparse tensors are only added up (SUM)", "have different sizes")):
                self.assertIn(part, text)

    def test_groups_that_come_and_go(self):
        ranks.values(self, groups, 3)

    def test_a_tcp_store(self):
        for said in ranks.values(self, stores, 2):
            self.assertNotIn("timed out", said, "PyTorch warns of its own waits")

    def test_a_world_of_one(self):
        ranks.values(self, alone, 1)

    def test_futures(self):
        ranks.values(self, futures, 2)

    def test_a_callback_may_wait_for_what_it_starts(self):
        self.assertEqual(ranks.values(self, callbacks.callbacks_that_wait, 2), [[12.0] * 4] * 2)

    def test_the_limit_holds_for_a_future_alone(self):
        self.assertRegex(ranks.values(self, callbacks.limits_in_callbacks, 2)[0], "timed out after 1000 ms at rank 0: rank 1 .* has not begun it")

    def test_a_slow_callback_is_named_and_those_behind_it_go_on(self):
        said = ranks.values(self, callbacks.a_slow_callback, 2)[0]
        self.assertIn("sumac: rank 0: a callback of a future of all_reduce has run for 0 s: later futures no longer wait for it", said)

    def test_a_work_that_outlives_its_group_has_ended(self):
        words = ranks.values(self, callbacks.kept_beyond_destroy, 2)[0]
        for text in words[:3]:
            self.assertIn("the process group was destroyed before this was done", text)
        self.assertIn("the process group was closed", words[3])

    def test_the_debug_mode(self):
        for text in ranks.values(self, in_debug_mode, 2):
            self.assertIn("Detected mismatch between collectives on ranks", text)

    def test_the_profiler_names_our_operations(self):
        self.assertEqual(ranks.values(self, profiled, 2), [["sumac:all_reduce", "sumac:broadcast"]] * 2)

    def test_data_loaders_fork(self):
        ranks.values(self, data_loader, 2)


class Training(unittest.TestCase):
    def test_ddp_has_the_losses_of_gloo(self):
        for size in (2, 4):
            ours, theirs = (ranks.values(self, ddp, size, backend) for backend in ("sumac", "gloo"))
            for one, other in zip(ours, theirs):
                self.assertEqual(len(one), 5)
                for left, right in zip(one, other):
                    self.assertLessEqual(abs(left - right), 1e-6 * abs(right) if size > 2 else 0)

    def test_powersgd_has_the_losses_of_gloo(self):
        ours, theirs = (ranks.values(self, powersgd, 2, backend) for backend in ("sumac", "gloo"))
        for one, other in zip(ours, theirs):
            self.assertEqual(len(one), 5)
            for left, right in zip(one, other):
                self.assertLessEqual(abs(left - right), 1e-6 * abs(right))

    def test_fsdp_has_the_losses_of_gloo(self):
        ours, theirs = (ranks.values(self, fsdp, 2, backend) for backend in ("sumac", "gloo"))
        self.assertEqual(ours, theirs)


# ---- what goes wrong


def wrong_tensors(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    own = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu"))
    words = []
    for call in (lambda: dist.all_reduce(torch.ones(4, 4).t()[:2]), lambda: own.broadcast(torch.ones(2).to_sparse(), 0),
                 lambda: dist.all_gather_into_tensor(torch.ones(3), torch.ones(2)), lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND),
                 lambda: own.allreduce([torch.ones(2, device="meta")])):
        try:
            call()
            words.append("it ran")
        except (ValueError, RuntimeError) as error:
            words.append(str(error))
    dist.barrier()
    dist.destroy_process_group()
    return words


def late(rank, size, folder, is_async):
    ranks.init("sumac", rank, size, folder, timeout=0.5)
    dist.barrier()
    try:
        if rank == 0:
            work = dist.all_reduce(torch.ones(100_000 if is_async else 4), async_op=is_async)
            if is_async:
                work.wait()
    finally:
        if rank == 0:
            (folder / "over").touch()
    ranks.await_file(folder / "over")
    # Their parts are all that is missing: that of the first rank is there.
    dist.all_reduce(torch.ones(100_000 if is_async else 4))


def late_message(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    try:
        if rank == 0:
            dist.irecv(torch.ones(1), 1).wait(datetime.timedelta(seconds=0.3))
    finally:
        if rank == 0:
            (folder / "over").touch()
    ranks.await_file(folder / "over")


def late_in_monitored_barrier(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    words = ""
    if rank != 1:
        try:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.5))
        except RuntimeError as error:
            words = str(error)
    # A limit of 0 is over at once.
    try:
        dist.monitored_barrier(timeout=datetime.timedelta(0))
    except RuntimeError as error:
        assert f"Rank {rank} timed out in monitoredBarrier after 0 ms" in str(error)
    # The group is still of use.
    x = torch.ones(1)
    dist.all_reduce(x)
    return words, x.item()


def dead(rank, size, folder, is_message):
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if is_message:
        dist.recv(torch.ones(1), 1)
    else:
        dist.all_reduce(torch.ones(4))


def interrupted(rank, size, folder):
    ranks.init("sumac", rank, size, folder)
    dist.barrier()
    if rank == 0:
        try:
            (folder / "waits").touch()  # The signal may come from here on.
            dist.all_reduce(torch.ones(4))
        finally:
            (folder / "ended").touch()
    ranks.await_file(folder / "ended")
    for _ in range(2):  # Rank 0 has given its part of the first one.
        dist.all_reduce(torch.ones(4))


class Fails(unittest.TestCase):
    def test_tensors_that_cannot_be(self):
        for words in ranks.values(self, wrong_tensors, 2):
            for text, part in zip(words, ("must be contiguous", "layout Sparse", "3 elements where the 2 ranks have 2 each", "BAND of Float is not defined",
                                          "a tensor on meta; it takes tensors on the CPU or a GPU")):
                self.assertIn(part, text)

    def test_every_rank_learns_that_the_ranks_differ(self):
        cases = [(what, next_call) for what in unlike.UNLIKE for next_call in ("barrier", "destroy")]
        unlike.check(self, unlike.unlike, cases, "the ranks differ: (in )?operation 1")

    def test_a_rank_that_does_not_come_is_named_and_all_fail(self):
        for is_async in (False, True):
            found = ranks.run(late, 3, is_async)
            size = "400000" if is_async else "16"
            for rank, one in enumerate(found):
                self.assertRegex(one.error, rf"^DistBackendError: rank {rank}: allreduce of {size} B, float32, sum \(operation 2 of group .*\): timed out after "
                                            r"500 ms at rank 0: rank 1 \(host .*\), rank 2 \(host .*\) have not begun it$")

    def test_a_wait_with_a_limit(self):
        found = ranks.run(late_message, 2)
        self.assertRegex(found[0].error, "^DistBackendError: rank 0: wait.. timed out after 300 ms")
        self.assertIsNone(found[1].error)

    def test_a_monitored_barrier_names_the_rank_and_leaves_the_group(self):
        answers = ranks.values(self, late_in_monitored_barrier, 3)
        self.assertIn("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 500 ms", answers[0][0])
        self.assertIn("[Rank 2]: Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0", answers[2][0])
        self.assertEqual([value for _, value in answers], [3.0] * 3)

    def test_a_rank_that_dies_is_named(self):
        for is_message in (False, True):
            found = ranks.run(dead, 2, is_message)
            self.assertRegex(found[0].error, r"^DistBackendError: .*rank 1 .*died")

    def test_ctrl_c_ends_a_call(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            started = ranks.start(interrupted, 2, folder)
            ranks.await_file(folder / "waits")
            os.kill(started[0][0], signal.SIGINT)
            found = ranks.end(started)
        self.assertTrue(found[0].error.startswith("KeyboardInterrupt"), found[0].error)
        self.assertRegex(found[1].error, "rank 0 was interrupted|rank 0 .* died")


if __name__ == "__main__":
    unittest.main()
