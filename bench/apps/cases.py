"""The cases of `make bench-apps`: each program at each place for which it has a size."""

from dataclasses import dataclass

from demolib import cases as C

from .apps import APPS
from .places import PLACES


@dataclass(frozen=True)
class AppCase(C.Case):
    app: object = None
    place: object = None

    @property
    def least(self):
        return self.app.least(self.place.name)

    @property
    def must(self):
        return f">= {self.least:.2f} x"


def case_of(app, place):
    return AppCase(f"{app.name}-{place.name}", place.fabric, app.name, 0, None, place.why, unit="s", app=app, place=place)


CASES = tuple(case_of(app, place) for place in PLACES for app in APPS if app.size(place.name) is not None)


@dataclass(frozen=True)
class Form:
    """How much is measured: so many pairs, and whether the first of them looks for Open MPI's best algorithms."""

    name: str
    pairs: int

    def runs_of(self, _case):
        return self.pairs
