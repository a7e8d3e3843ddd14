"""Collectives between processes, through shared memory: for numpy arrays here, for PyTorch as the backend "sumac".

>>> import sumac_collectives
>>> team = sumac_collectives.init_alone()   # init() under torchrun, mpirun or srun
>>> team.allreduce([1.5, 2.5])
array([1.5, 2.5])
"""
from ._core import Error, TimeoutError, version as __version__
from .team import Request, Team, init, init_alone

__all__ = ["Error", "Request", "Team", "TimeoutError", "__version__", "init", "init_alone"]
