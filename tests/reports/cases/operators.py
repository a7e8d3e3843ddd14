"""Operators: O1 to O20."""

from case import Case

CASES: list[Case] = []
