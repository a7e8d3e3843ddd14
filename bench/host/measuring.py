"""Turns: who is asked when, which pairs count, and the progress line."""

import contextlib
import time

from core.pairs import same_state

from . import cliffs, plan as P
from .running import ProgramFailed, Running, TooSlow

TRIES = 3  # a pair whose two turns saw different machines is tried so often
SLOW_TURN_S = 0.3  # a program that takes longer for a turn gets fewer iterations
TURN_S_MAX = 6  # a program that takes longer is out of the cell
PROBE = 4


class Clock:
    """Elapsed, left, and whether there is time for one more start."""

    def __init__(self, budget_s):
        self.start, self.budget_s = time.monotonic(), budget_s

    @property
    def elapsed(self):
        return time.monotonic() - self.start

    def over(self):
        return self.elapsed > self.budget_s


def value_of(cell, answer):
    if "overlap" in answer:
        return answer["overlap"]
    return answer["mean_ns" if cell.is_mean else "ns"] / (1e6 if cell.unit == "ms" else 1e3)


class Measuring:
    def __init__(self, results, programs, clock):
        self.results, self.programs, self.clock = results, programs, clock
        self.broken = {}  # (group, program) -> why: not asked again
        self.too_slow = set()  # (cell, program)

    def file(self, cell, program, answer):
        column = self.results.cell(cell.name, program)
        column.values.append(value_of(cell, answer))
        column.trips += [trip for trip in answer["round_trip_ns"] if trip > 0]

    def fail(self, group, name, why):
        self.broken[group.name, name] = why
        for cell in group.cells:
            self.results.cell(cell.name, name).failures.append(why)

    def one_start(self, group, start, said):
        """Starts the programs of the group afresh, and lets them take turns."""
        names = [group.reference, *group.peers] + ([P.BARE] if group.bare else [])
        if group.apart:
            seen = {cell: {name: len(self.results.cell(cell.name, name).values) for name in names} for cell in group.cells}
            for name in names:
                self.together(group, [name], start, said)
            if group.before:
                self.pair_up(group, start, seen)
        else:
            self.together(group, names, start, said)

    def pair_up(self, group, start, seen):
        """Pairs the turns of this start that the other build and ours took one after the other. In a percentage more is better."""
        for cell, counts in seen.items():
            mine, theirs = (self.results.cell(cell.name, name).values[counts[name]:] for name in (group.reference, group.before))
            for ours, other in zip(mine, theirs):
                if ours > 0 and other > 0:
                    self.results.pair(cell.name, group.before).add(start, ours / other if cell.unit == "%" else other / ours)

    def together(self, group, names, start, said):
        running = {}
        with contextlib.ExitStack() as stack:
            for name in names:
                if name not in self.programs or (group.name, name) in self.broken:
                    continue
                try:
                    running[name] = stack.enter_context(Running(self.programs[name], group.ranks, group.pinned, group.options))
                except ProgramFailed as failure:
                    self.fail(group, name, str(failure))
            for cycle in range(group.cycles):
                said(start, cycle)
                if group.peers:
                    for cell in group.cells:
                        self.one_cell(group, cell, start, cycle, running)
                else:
                    self.alone(group, start, running)
                if self.clock.over() and start + cycle > 0:
                    return

    def ask(self, group, cell, name, running):
        """The answer, or None if this program is out."""
        if name not in running:
            return None
        program = running[name]
        try:
            if cell.name not in program.turns:
                program.turns[cell.name] = cell.turns if group.pinned else self.few(program, cell)
            return program.ask(cell, TURN_S_MAX, program.turns[cell.name])
        except TooSlow as failure:
            self.too_slow.add((cell.name, name))
            self.results.cell(cell.name, name).failures.append(str(failure))
        except ProgramFailed as failure:
            self.fail(group, name, str(failure))
        program.give_up()
        del running[name]
        return None

    @staticmethod
    def few(program, cell):
        """With more ranks than cores some need 1000 times as long as others: as many iterations as a turn has time for."""
        program.ask(cell, TURN_S_MAX, 1)
        began = time.monotonic()
        program.ask(cell, TURN_S_MAX, PROBE)
        turn_s = time.monotonic() - began
        program.every[cell.name] = 1 + int(turn_s / SLOW_TURN_S)
        return max(PROBE, min(cell.turns, int(PROBE * SLOW_TURN_S / turn_s)))

    def alone(self, group, start, running):
        answers = [(cell, self.ask(group, cell, group.reference, running)) for cell in group.cells]
        for cell, answer in answers:
            if answer:
                self.file(cell, group.reference, answer)
        cliffs.note(self.results, group, start, answers)

    def takes_part(self, cell, name, running, cycle):
        """A program that is slow here comes less often; one that is far too slow not again."""
        if name not in running or (cell.name, name) in self.too_slow:
            return False
        return cycle % running[name].every.get(cell.name, 1) == 0

    def one_cell(self, group, cell, start, cycle, running):
        turn = cycle + group.cells.index(cell)
        peers = [name for name in group.peers if self.takes_part(cell, name, running, cycle)]
        peers = peers[turn % len(peers):] + peers[:turn % len(peers)] if peers else []
        if group.bare and P.BARE in running:
            self.ask_bare(group, cell, running)
        if group.reference not in running or not peers:
            for name in [group.reference, *peers]:
                answer = self.ask(group, cell, name, running)
                if answer:
                    self.file(cell, name, answer)
            return
        for index, peer in enumerate(peers):
            self.one_pair(group, cell, start, peer, running, peer_first=(turn + index) % 2)

    def ask_bare(self, group, cell, running):
        """Asks for the cell, and for the copies that are its limit."""
        for asked, column in ((cell, P.BARE), (cell.copies(group.ranks), P.COPIES)):
            answer = asked and self.ask(group, asked, P.BARE, running)
            if answer:
                self.file(cell, column, answer)

    def one_pair(self, group, cell, start, peer, running, peer_first):
        order = (peer, group.reference) if peer_first else (group.reference, peer)
        pairs = self.results.pair(cell.name, peer)
        for _ in range(TRIES):
            answers = {name: self.ask(group, cell, name, running) for name in order}
            if None in answers.values():
                return
            if same_state(*answers.values()):
                for name, answer in answers.items():
                    self.file(cell, name, answer)
                mine, theirs = (value_of(cell, answers[name]) for name in (group.reference, peer))
                if mine > 0:
                    pairs.add(start, theirs / mine)
                return
            pairs.dropped += 1

    def group(self, group, note, first=0):
        """Measures a group; `first` is the number of its first start, if the group has been measured before."""
        began = time.monotonic()
        for start in range(first, first + group.starts):
            if start and self.clock.over():
                break
            self.one_start(group, start, lambda s, c: note(group, s - first, c))
        return time.monotonic() - began
