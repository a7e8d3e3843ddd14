"""Finds out from the environment who this process is, and where its ranks meet.

| started by | rank and size | where they meet |
|---|---|---|
| torchrun | RANK, WORLD_SIZE | torchrun's own store (MASTER_ADDR, MASTER_PORT) |
| anything that sets MASTER_ADDR | RANK, or the variables below | rank 0 serves at MASTER_ADDR:MASTER_PORT |
| mpirun of Open MPI | OMPI_COMM_WORLD_RANK, _SIZE | a socket of this host, named after the job |
| mpirun of MPICH, Intel MPI | PMI_RANK, PMI_SIZE | a socket of this host, named after the launcher |
| srun | SLURM_PROCID, SLURM_NTASKS | a socket of this host, named after the job step |
| nothing of these | 0 of 1 | - |
"""
from __future__ import annotations

import datetime
import hashlib
import os
import pathlib
import time
import typing
from collections.abc import Mapping
from dataclasses import dataclass

from .store import Address, Client, Server


class Store(typing.Protocol):
    """The two functions that a team needs to meet; each may raise."""

    def set(self, name: str, value: bytes) -> None:
        """Stores a value for all ranks."""

    def get(self, name: str, seconds: float) -> bytes | None:
        """Waits for a value, at most so long; 0 only looks. Returns None if it is not there."""

    def close(self) -> None:
        """Ends the connection."""


class Prefixed:
    """Another store under names of its own: one for each team."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def set(self, name: str, value: bytes) -> None:
        """Stores a value for all ranks."""
        self._store.set(f"{self._prefix}/{name}", value)

    def get(self, name: str, seconds: float) -> bytes | None:
        """Waits for a value, at most so long; 0 only looks. Returns None if it is not there."""
        return self._store.get(f"{self._prefix}/{name}", seconds)

    def close(self) -> None:
        """Leaves the other store open."""


@dataclass(frozen=True)
class Start:
    """Who this process is."""

    rank: int
    size: int
    address: Address | None = None  # None: alone, or torchrun's store.
    is_torchrun: bool = False


_LAUNCHERS = (
    # Rank, size, and the variables that name the job.
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMIX_SERVER_URI2")),
    ("PMI_RANK", "PMI_SIZE", ("PMI_KVSNAME", "PMI_JOBID", "HYDI_CONTROL_FD")),
    ("SLURM_PROCID", "SLURM_NTASKS", ("SLURM_JOB_ID", "SLURM_STEP_ID")),
)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except KeyError:
        raise ValueError(f"{name} is not set: set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or use a launcher") from None
    except ValueError:
        raise ValueError(f"{name}={environment[name]}: not a number") from None


def _master(environment: Mapping[str, str]) -> Address:
    return environment["MASTER_ADDR"], _number(environment, "MASTER_PORT")


def _local(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    parts = [environment[name] for name in names if name in environment]
    if not parts:
        # Hydra names no job, but its proxy is the parent of all ranks here. Where its memory lies is for its user alone to
        # read, so nobody else can guess the name and take it first.
        parent = os.getppid()
        try:
            secret = hashlib.sha256(pathlib.Path(f"/proc/{parent}/auxv").read_bytes()).hexdigest()[:16]
        except OSError:
            secret = ""  # The kernel hides the parent; its number has to do.
        parts = [str(parent), secret]
    return f"sumac-collectives-{os.getuid()}-{'-'.join(parts)}"[:100]


def find(environment: Mapping[str, str]) -> Start:
    """Reads the variables of the launcher. Raises ValueError, which names the variable.

    >>> find({})
    Start(rank=0, size=1, address=None, is_torchrun=False)
    >>> find({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"}).address
    ('n1', 29500)
    >>> find({"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}).rank
    3
    >>> find({"RANK": "1", "WORLD_SIZE": "2"})
    Traceback (most recent call last):
    ValueError: RANK is set and MASTER_ADDR is not: set both, or use torchrun
    """
    start = Start(0, 1)
    if "RANK" in environment:
        rank, size = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
        if size > 1 and "MASTER_ADDR" not in environment:
            raise ValueError("RANK is set and MASTER_ADDR is not: set both, or use torchrun")
        if environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            return Start(rank, size, _master(environment), True)
        start = Start(rank, size, _master(environment) if size > 1 else None)
    else:
        for rank_name, size_name, job in _LAUNCHERS:
            if rank_name in environment:
                rank, size = _number(environment, rank_name), _number(environment, size_name)
                where = _master(environment) if "MASTER_ADDR" in environment else _local(environment, job)
                start = Start(rank, size, where)
                break
    if not 0 <= start.rank < start.size:
        raise ValueError(f"rank {start.rank} of {start.size}: ranks count from 0")
    return start


class _TorchStore:
    """torchrun serves one already, at the very port."""

    def __init__(self, start: Start, timeout: float) -> None:
        try:
            import torch.distributed as dist
        except ImportError as error:
            raise ImportError("torchrun started this process, and torch cannot be imported here") from error
        host, port = typing.cast("tuple[str, int]", start.address)
        made: typing.Any = dist
        whole = made.TCPStore(host, port, is_master=False, timeout=datetime.timedelta(seconds=timeout))
        # It outlives the teams, and the keys of earlier ones are there.
        this = whole.add(f"sumac_collectives/rounds/{start.rank}", 1)
        self._store = made.PrefixStore(f"sumac_collectives/{this}", whole)

    def set(self, name: str, value: bytes) -> None:
        """Stores a value for all ranks."""
        self._store.set(name, value)

    def get(self, name: str, seconds: float) -> bytes | None:
        """Waits for a value, at most so long; 0 only looks. Returns None if it is not there."""
        # Not the store's own wait(), which writes warnings for each wait that is over.
        end = time.monotonic() + seconds
        while not self._store.check([name]):
            if time.monotonic() >= end:
                return None
            time.sleep(seconds / 8)
        return bytes(self._store.get(name))

    def close(self) -> None:
        """The store closes with its last user."""


def connect(start: Start, timeout: float) -> Store | None:
    """Returns the store at which the ranks meet; None for a process alone."""
    if start.address is None or start.size == 1:
        return None
    if start.is_torchrun:
        return _TorchStore(start, timeout)
    server = Server(start.address, start.size) if start.rank == 0 else None
    client = Client(start.address, timeout)
    client.server = server
    return client
