"""Reductions of a chare array by Sumac's tree beside charm4py's own: every result of both is compared with the exact one.

    python -m charmrun.start +p4 ++local examples/charm4py/reductions.py     # this host; examples/charm/README.md has several hosts

A `TreeReducer` has a member on each PE. The elements of an array contribute to their own PE's member; when all of them have, it begins one
nonblocking allreduce among the PEs, and the PE's scheduler goes on. A scheduled callable looks whether that is done, and then hands the
result to each element: to its Event, or to a function. An element may contribute again before it has its result.
"""
import argparse
import collections
import json
import os
import socket
import statistics
import threading
import time

import numpy as np
import sumac_collectives
from charm4py import Array, Chare, Future, Group, Reducer, charm, coro
from charm4py.threads import LocalFuture as Event  # get() suspends the coroutine that calls it, send() lets it go on


class TreeReducer(Chare):
    """The member of one PE: adds up what the PE's elements contribute, and then reduces that among the PEs."""

    def __init__(self):
        self.given, self.team, self.meeting, self.have_all_met = {}, None, None, False
        self.open = collections.deque()  # [sum so far, targets] of reductions that lack some element of this PE; the oldest first
        self.begun = 0  # reductions that lack none, each a number of the elements' own sequence
        self.in_flight = collections.deque()  # (request, targets), in the order in which they were begun: the same on every PE

    def register(self, element):
        """Called by each element of this PE, before meet(). Elements stay on their PE."""
        self.given[element] = 0

    def meet(self, address, port, met):
        """Makes the team of all PEs, which meet at this address of PE 0; `met` gets a contribution of each PE then."""
        if not self.given:
            charm.abort(f"PE {charm.myPe()} has no element of the array: give at least as many elements as PEs")
        os.environ.update(RANK=str(charm.myPe()), WORLD_SIZE=str(charm.numPes()), MASTER_ADDR=address, MASTER_PORT=str(port))
        self.meeting = threading.Thread(target=self.join, daemon=True)  # The scheduler goes on meanwhile.
        self.meeting.start()
        self.look_for_team(met)

    def join(self):
        """Runs in a thread of its own."""
        self.team = sumac_collectives.init(timeout=60)

    def look_for_team(self, met):
        # Charm++'s scheduler holds Python's lock while it looks for messages: other threads run while this waits. That of PE 0 serves
        # the others until all have met.
        self.meeting.join(0.005)
        if met and not self.meeting.is_alive():
            if self.team is None:
                charm.abort(f"PE {charm.myPe()} has no team: its error is above")
            self.reduce(met, 1, Reducer.sum)
            met = None
        if not self.have_all_met:
            if met is None:
                time.sleep(0.005)
            charm.scheduleCallableAfter(self.look_for_team, 0, [met])

    def all_have_met(self):
        self.have_all_met = True

    def give(self, element, values, target):
        """Adds `values` to the element's next reduction. `target` is an Event, or a function that gets the result."""
        at = self.given[element] - self.begun
        self.given[element] += 1
        if at == len(self.open):
            self.open.append([np.zeros_like(values), []])
        partial, targets = self.open[at]
        partial += values
        targets.append(target.send if isinstance(target, Event) else target)
        while self.open and len(self.open[0][1]) == len(self.given):
            self.begin(*self.open.popleft())

    def begin(self, partial, targets):
        self.begun += 1
        self.in_flight.append((self.team.iallreduce(partial, out=partial), targets))
        if len(self.in_flight) == 1:
            charm.scheduleCallableAfter(self.look, 0)

    def look(self):
        """The scheduled callable: hands out what is done, and comes again while something is in flight."""
        done = []
        # It sleeps a little for the first: PEs that spin would take the processors that others of this host need.
        while self.in_flight and self.in_flight[0][0].done(0 if done else 0.0005):
            done.append(self.in_flight.popleft())
        if self.in_flight:
            charm.scheduleCallableAfter(self.look, 0)
        for request, targets in done:
            for target in targets:
                target(request.wait())

    def leave(self, left):
        self.team.close()
        self.reduce(left, 1, Reducer.sum)


def expected(elements, step, count):
    """The exact sum of what all elements give in a step."""
    return np.full(count, sum(range(1, elements + 1)) + elements * step, dtype=np.float64)


class Element(Chare):
    """An element of the array: reduces in one way and in the other, and checks every result."""

    def __init__(self, reducers, elements, count):
        self.elements, self.count, self.wrong = elements, count, 0
        self.tree = reducers.ckLocalBranch()
        self.tree.register(self.thisIndex)

    def value(self, step):
        return np.full(self.count, self.thisIndex[0] + 1 + step, dtype=np.float64)

    def check(self, result, step):
        # charm4py makes a number of an array of one element.
        self.wrong += not np.array_equal(np.atleast_1d(result), expected(self.elements, step, self.count))

    def by_tree(self, step):
        event = Event()
        self.tree.give(self.thisIndex, self.value(step), event)
        return event.get()

    def by_charm(self, step):
        return self.allreduce(self.value(step), Reducer.sum).get()

    @coro
    def run(self, way, steps, took):
        """Some steps, one behind the other. `took` gets the median time of a step of each element."""
        times = []
        reduce = self.by_tree if way == "tree" else self.by_charm
        for step in range(steps):
            begin = time.perf_counter()
            result = reduce(step)
            times.append((time.perf_counter() - begin) * 1e6)
            self.check(result, step)
        self.reduce(took, statistics.median(times), Reducer.max)

    @coro
    def run_ahead(self, steps, done):
        """All contributions first, each with a function for its result; `done` gets one contribution behind the last."""
        for step in range(steps):
            self.tree.give(self.thisIndex, self.value(step), lambda result, step=step: self.got(result, step, steps, done))

    def got(self, result, step, steps, done):
        self.check(result, step)
        if step == steps - 1:
            self.reduce(done, 1, Reducer.sum)

    def errors(self, total):
        self.reduce(total, self.wrong, Reducer.sum)


def address_of_this_host():
    return "127.0.0.1" if charm.numHosts() == 1 else socket.gethostbyname(socket.gethostname())


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=2 * charm.numPes(), help="of the array")
    parser.add_argument("--count", type=int, default=1, help="doubles of an element")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--turns", type=int, default=1, help="each way so often, one after the other")
    parser.add_argument("--address", default=None, help="of this host, where the PEs meet")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each turn")
    options = parser.parse_args(arguments[1:])
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    reducers = Group(TreeReducer)
    charm.awaitCreation(reducers)
    array = Array(Element, options.elements, args=[reducers, options.elements, options.count])
    charm.awaitCreation(array)
    met = Future()
    reducers.meet(options.address or address_of_this_host(), port, met)
    met.get()
    reducers.all_have_met()
    for turn in range(options.turns):
        took = {}
        for way in ("charm", "tree") if turn % 2 == 0 else ("tree", "charm"):
            future = Future()
            array.run(way, options.steps, future)
            took[way] = future.get()
        words = {"pes": charm.numPes(), "elements": options.elements, "bytes": 8 * options.count, "charm_us": took["charm"], "tree_us": took["tree"]}
        print(json.dumps(words) if options.json else f"a reduction of {words['bytes']} B among {options.elements} elements on {words['pes']} PEs: "
              f"{took['charm']:.0f} us by charm4py, {took['tree']:.0f} us by Sumac", flush=True)
    done, total, left = Future(), Future(), Future()
    array.run_ahead(options.steps, done)
    done.get()
    array.errors(total)
    wrong = total.get()
    reducers.leave(left)
    left.get()
    print(f"reductions: {wrong} wrong", flush=True)
    charm.exit(1 if wrong else 0)


if __name__ == "__main__":
    charm.start(main)
