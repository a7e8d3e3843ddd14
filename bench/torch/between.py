"""Cases between hosts: one process on each host of an emulated fabric without aggregation nodes, with a group of Sumac and one of gloo.

As a program it is one of those processes: between.py RANK SIZE FOLDER BYTES TURNS."""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARMUP = 3  # A connection's first streams find out what the links carry.


def member(rank, size, folder, count_bytes, turns):
    """Times both backends in turns, and at rank 0 leaves {backend: [ms]} in the folder."""
    import torch
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = next(name for _, name in socket.if_nameindex() if name != "lo")
    torch.set_num_threads(1)
    dist.init_process_group("sumac", store=dist.FileStore(f"{folder}/store", size), rank=rank, world_size=size)
    groups = {"sumac": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    data, took = torch.empty(count_bytes // 4), {name: [] for name in groups}
    for turn in range(WARMUP + turns):
        for name in sorted(groups, reverse=turn % 2 == 0):
            data.fill_(rank + turn % 7)
            dist.barrier()
            began = time.perf_counter()
            dist.all_reduce(data, group=groups[name])
            mean = torch.tensor([time.perf_counter() - began])
            if not bool((data == size * (size - 1) / 2 + size * (turn % 7)).all()):
                raise SystemExit(f"{name} gave a wrong result")
            dist.all_reduce(mean)
            took[name].append(mean.item() / size * 1e3)
    if rank == 0:
        pathlib.Path(folder, "took").write_text(json.dumps({name: values[WARMUP:] for name, values in took.items()}))
    dist.destroy_process_group()


def measure(build, fabric, count_bytes, turns, seconds):
    """Brings the fabric up, runs a member on each host, and returns {backend: [ms]}. Raises RuntimeError if one failed or a port lost data."""
    name = f"bench-torch-{os.getpid()}"

    def lab(verb, *words):
        return [str(build.resolve() / "bin" / "sumac"), "lab", verb, "--name", name, *map(str, words)]

    def status(word):
        lines = subprocess.run(lab("status"), check=True, capture_output=True, text=True).stdout.splitlines()
        return [line.split() for line in lines if line.strip().startswith(word)]

    subprocess.run(lab("up", ROOT / "lab" / "fabrics" / fabric, "--bare"), check=True, stdout=subprocess.DEVNULL)
    # Hosts of the lab have a /tmp of their own.
    with tempfile.TemporaryDirectory(dir=build.resolve()) as folder:
        try:
            hosts = [words[1] for words in status("host ")]
            python = ("env", f"PYTHONPATH={build.resolve() / 'python'}", "OMP_NUM_THREADS=1", sys.executable, "-W", "ignore", __file__)
            members = [subprocess.Popen(lab("exec", host, "--", *python, rank, len(hosts), folder, count_bytes, turns), stderr=subprocess.PIPE, text=True)
                       for rank, host in enumerate(hosts)]
            until = time.monotonic() + seconds
            try:
                said = [one.communicate(timeout=max(1, until - time.monotonic()))[1] for one in members]
            finally:
                for one in members:
                    one.kill()
            if any(one.returncode for one in members):
                raise RuntimeError(next(text.strip()[-300:] for one, text in zip(members, said) if one.returncode))
            if status("drops")[0][1] != "0":
                raise RuntimeError("a port of the fabric lost data")
            return json.loads(pathlib.Path(folder, "took").read_text())
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"not done after {seconds} s") from late
        finally:
            subprocess.run(lab("down"), check=False, stdout=subprocess.DEVNULL)


def medians(took):
    """{backend: ms}"""
    return {name: statistics.median(values) for name, values in took.items()}


if __name__ == "__main__":
    member(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
