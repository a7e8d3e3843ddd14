import json
import unittest

from demolib import profile, schema

SCHEMA = json.loads(profile.SCHEMA.read_text(encoding="utf-8"))


def trace(*events, **other):
    """Returns a legal file with these events."""
    names = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0 on here"}},
             {"ph": "M", "name": "process_sort_index", "pid": 0, "tid": 0, "args": {"sort_index": 0}},
             {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "thread 0"}}]
    data = {"rank": 0, "process": 7, "host": "here", "events": len(events), "dropped_events": 0, "finalize_us": 9.5, **other}
    return {"displayTimeUnit": "ns", "otherData": data, "traceEvents": [*names, *events]}


def call(ts=1.5, dur=2.0, tid=0, name="barrier", size=0):
    return {"ph": "X", "cat": "collective", "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": {"bytes": size, "way": "MPI", "communicator": "MPI_COMM_WORLD"}}


class TraceSchema(unittest.TestCase):
    def test_a_legal_trace_passes(self):
        schema.check(trace(), SCHEMA)
        schema.check(trace(call(), call(5.0)), SCHEMA)

    def test_each_broken_rule_is_named(self):
        for broken, words in [
            (trace({**call(), "ph": "B"}), "0 of the 3 forms fit"),
            (trace({**call(), "dur": -0.1}), "is below 0"),
            (trace({**call(), "ts": "soon"}), "is no number"),
            (trace({key: value for key, value in call().items() if key != "dur"}), "dur is missing"),
            (trace({**call(), "pid": True}), "is no integer"),
            (trace({**call(), "args": {"bytes": 1, "way": "by foot", "communicator": "x"}}), "is none of"),
            (trace({**call(), "colour": "red"}), "unexpected colour"),
            (trace(call(), dropped_events=-1), "is below 0"),
            ({**trace(), "traceEvents": []}, "is too short"),
            ([], "is no object"),
        ]:
            with self.subTest(words=words), self.assertRaisesRegex(ValueError, words):
                schema.check(broken, SCHEMA)

    def test_a_word_that_is_not_checked_is_refused(self):
        with self.assertRaisesRegex(ValueError, "cannot check pattern"):
            schema.check("x", {"pattern": "y"})


if __name__ == "__main__":
    unittest.main()
