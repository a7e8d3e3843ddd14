"""Operators: O1 to O20."""

from case import Case

CASES: list[Case] = [
    Case("O4 a node that is told no address tells its children the one towards its manager, also on hosts of IPv6 alone", tests=r"badinput\.addresses|OwnAddress",
         kin="a node that starts before its network, with the manager's address among several networks, beside its manager; ucx's device; a Python job's manager"),
]
