#!/usr/bin/env python3
"""The pure parts of `make walk`: rings to rooms, loops, structs that are records of an operation, and the limit on those records."""
import pathlib
import struct
import tempfile
import unittest

import records
import rooms

FUNCTIONS = {1: rooms.Function("main", ""), 2: rooms.Function("start", "team"), 3: rooms.Function("now", "base"),
             4: rooms.Function("post", "client"), 5: rooms.Function("send", "net")}


def calls(*numbers):
    """One event per number at 10, 20, ... ns: a positive one calls that function, a negative one leaves it."""
    return [(10 * at, abs(number), number > 0) for at, number in enumerate(numbers, 1)]


def walked(events, stack=(), begin=0, end=1000):
    return [(s.room, s.came_from, s.function, s.is_call) for s in rooms.steps_of(events, list(stack), FUNCTIONS, begin, end)]


class Rooms(unittest.TestCase):
    def test_a_folder_is_a_room(self):
        for path, room in (("/p/src/shm/group.cpp:12", "shm"), ("/p/bindings/mpi/calls.c:1", "mpi"), ("/p/lab/plan.cpp:3", "lab"),
                           ("/usr/include/c++/12/bits/stl_vector.h:90", ""), ("??:0", "")):
            self.assertEqual(rooms.room_of(path), room)

    def test_calls_and_returns_are_steps(self):
        self.assertEqual(walked(calls(1, 2, 4, 5, -5, -4, -2, -1)),
                         [("team", "", "start", True), ("client", "team", "post", True), ("net", "client", "send", True),
                          ("client", "net", "post", False), ("team", "client", "start", False)])

    def test_base_counts_as_its_caller(self):
        self.assertEqual(walked(calls(2, 3, -3, 4, 3, -3, -4), stack=[2]),
                         [("team", "", "start", True), ("client", "team", "post", True), ("team", "client", "start", False)])

    def test_a_ring_that_lost_its_beginning(self):
        self.assertEqual(walked(calls(5, -5, -4), stack=[1, 2]),
                         [("net", "", "send", True), ("client", "net", "post", False), ("team", "client", "start", False)])

    def test_only_the_window(self):
        events = calls(2, 4, 5, -5, -4, -2)
        self.assertEqual(walked(events, begin=25, end=45), [("net", "client", "send", True), ("client", "net", "post", False)])

    def test_rounds_of_a_loop_count_once(self):
        def steps(names):
            return [rooms.Step(name, "", "", True) for name in names.split()]

        for before, after in (("a b a b a b c", "a b c"), ("a b c a b c", "a b c"), ("a b c a c b", "a b c a c b"), ("a", "a")):
            self.assertEqual(rooms.without_loops(steps(before)), steps(after))

    def test_idle_looks_are_waiting(self):
        def steps(*calls):
            return [rooms.Step(room, came_from, function, is_call) for room, came_from, function, is_call in calls]

        look, back = ("net", "node", rooms.LOOK, True), ("node", "net", "run", False)
        message = ("node", "net", "on_message", True)
        self.assertEqual(rooms.without_idle_looks(steps(look, back, look, message)), steps(look, message))

    def test_messages_come_in_one_look_or_in_two(self):
        look, back = rooms.Step("net", "node", rooms.LOOK, True), rooms.Step("node", "net", "run", False)
        message, done = rooms.Step("node", "net", "on_message", True), rooms.Step("net", "node", rooms.LOOK, False)
        self.assertEqual(rooms.without_second_looks([look, message, done, back, look, message, done, back]), [look, message, done, message, done, back])

    def test_a_call_back_is_into_a_room_that_is_waiting_for_the_call(self):
        steps = [rooms.Step("team", "mpi", "run", True), rooms.Step("client", "team", "start", True), rooms.Step("net", "client", "progress", True),
                 rooms.Step("client", "net", "on_message", True), rooms.Step("net", "client", "progress", False),
                 rooms.Step("client", "net", "start", False), rooms.Step("team", "client", "run", False), rooms.Step("client", "team", "test", True)]
        self.assertEqual(rooms.calls_back(steps), ["on_message"])
        self.assertEqual(rooms.picture(steps), "team > client > net ^ client < net < client < team > client")
        self.assertEqual(len(rooms.hand_overs(steps)), 5)

    def test_names_and_headers(self):
        for name, plain, room in (("void sumac::shm::fold<sumac::reduce::Kernel>(int)", "sumac::shm::fold", "shm"), ("sumac::is_op(unsigned int)", "sumac::is_op", "base"),
                                  ("sumac_team::choose(int) const", "sumac_team::choose", ""), ("sumac::net::(anonymous namespace)::f()", "sumac::net::f", "net")):
            self.assertEqual((rooms.plain(name), rooms.room_of_name(name)), (plain, room))

    def test_a_ring_is_read_from_its_oldest_event(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ring"
            data = bytearray(16 + 8 * rooms.DEPTH + 16 * rooms.EVENTS)
            struct.pack_into("<QQQ", data, 0, rooms.EVENTS + 1, 1, 7)
            for number in range(1, rooms.EVENTS + 1):
                struct.pack_into("<QQ", data, 16 + 8 * rooms.DEPTH + 16 * (number % rooms.EVENTS), number, 5 | rooms.LEFT * (number % 2))
            path.write_bytes(data)
            events, stack = rooms.read_ring(path)
        self.assertEqual((len(events), events[0], events[-1], stack), (rooms.EVENTS, (1, 5, False), (rooms.EVENTS, 5, True), [7]))


class Records(unittest.TestCase):
    def test_three_of_them_make_a_record(self):
        for text, found in (
                ("struct A { Kind kind; int root; void* out; };", [("A", ["kind", "root", "buffer"])]),
                ("struct A { Kind kind_; int root = 0; };", []),
                ("struct A { int f(int root); Kind kind; struct B { int root; void* in; size_t bytes[2]; }; };", [("B", ["count", "root", "buffer"])]),
                ("typedef struct { int root, count; /* op */ int op; } c_t;", [("c_t", ["count", "operation", "root"])]),
                ("class R { const coll::Operation* operation_; std::size_t bytes_; std::byte* in_; };", [])):
            self.assertEqual(records.records_in(text), found, text)

    def test_the_product_has_few(self):
        found = records.records()
        self.assertLessEqual(len(found), records.MOST, "\n".join(f"{path}: {name}: {', '.join(what)}" for path, name, what in found))


if __name__ == "__main__":
    unittest.main(verbosity=2)
