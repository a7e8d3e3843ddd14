"""The record of a report: what a user may rely on since its fault was mended, and the tests that say so."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # the report's number and its sentence: "M2 a communicator may be freed under its pending collectives"
    tests: str = ""  # a regular expression of ctest's names; each test that fails is one violation
    program: tuple[str, ...] = ()  # in place of tests: a program of this folder and its words; not ending with 0 is one violation
    kin: str = ""  # says what else of the same kind was looked for, and the outcome
    minutes: int = 10  # the longest that the program may take
