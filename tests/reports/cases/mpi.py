"""MPI programs: M1 to M7 and E1, E2."""

from case import Case

CASES: list[Case] = []
