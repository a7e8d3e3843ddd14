#!/usr/bin/env python3
"""The page of messages has each of the code with its remedy, and the reader of the code reads what it should."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
import messages  # noqa: E402


class Documents(unittest.TestCase):
    def test_every_message_has_a_row(self):
        page = messages.page()
        rows = [line for line in page.splitlines() if line.startswith("| ")]
        self.assertGreater(len(rows), 900)
        inside = "\n".join(rows)
        for program, found in messages.collect().items():
            self.assertIn(f"\n## {program}\n", page)
            for text, message in found.items():
                self.assertIn(messages.code(text), inside)
                for source in message.sources:
                    self.assertIn(source, inside)

    def test_each_remedy_has_a_message_and_each_message_that_needs_one_a_remedy(self):
        self.assertEqual(messages.faults(), [])

    def test_no_program_is_without_messages(self):
        for program, rows in messages.collect().items():
            self.assertGreater(len(rows), 4, program)


class Reader(unittest.TestCase):
    def test_c(self):
        rows = (
            ("literals that stand side by side are one message", 'return fail(Errc::io, "no room in {}: "\n "enlarge it", path);', {"no room in …: enlarge it": False}),
            ("a call of the system is marked", 'return fail_errno(fmt::format("open log {}", p));', {"open log …": True}),
            ("both arms of a choice", 'complain(a ? "no such host" : "two such hosts");', {"no such host": False, "two such hosts": False}),
            ("a comment is none", '// fail(Errc::io, "old words here");\n', {}),
            ("a quote as a character is no string", "fail(Errc::io, \"so bad {}\", '\"');", {"so bad …": False}),
            ("stdout is no error", 'fmt::print("all is well");', {}),
            ("debug lines are left out", 'SUMAC_LOG_IN(log_, LogLevel::debug, "JOBS", "job {} looked at", id);', {}),
            ("numbers of fixed width", 'SUMAC_SAY("job ID:%" PRIu64 " is over", id);', {"job ID:… is over": False}),
            ("braces that are text", 'fail(Errc::io, "write {{host}} in {}", x);', {"write {host} in …": False}),
            ("a word that ends in a call's name", 'line.starts_with("failed ") && unfail("not this one");', {}),
        )
        for name, text, found in rows:
            with self.subTest(name):
                self.assertEqual(messages.of_c(text, "src/x.cpp"), found)

    def test_python_and_shell(self):
        self.assertEqual(messages.of_python('def f(a):\n  raise ValueError(f"no {a} here: give " "one")\n', ""), {"no … here: give one": False})
        self.assertEqual(messages.of_shell('[[ -d $x ]] || die 2 "no folder $x: make it"\n', ""), {"no folder …: make it": False})

    def test_who_needs_a_remedy(self):
        def needs(text, source, errno=False):
            message = messages.Message()
            message.sources, message.errno = [source], errno
            return messages.needs_remedy(text, message)

        self.assertTrue(needs("the lab is in ruins", "tools/lab/up.cpp"))
        self.assertFalse(needs("the lab is in ruins: see `sumac lab help`", "tools/lab/up.cpp"), "it says itself what to do")
        self.assertFalse(needs("the lab is in ruins", "src/node/main.cpp"), "a daemon's log is read by an operator with this page")
        self.assertFalse(needs("open the lab file", "tools/lab/up.cpp", errno=True), "the words of the system follow")

    def test_the_longest_piece_counts(self):
        table = [("closed", "", "general"), ("sharpd closed", "", "special"), ("closed", "tools/", "general of tools")]
        self.assertEqual(messages.remedy_of("sharpd closed the connection", ["src/x.cpp"], table), "special")
        self.assertEqual(messages.remedy_of("it was closed", ["src/x.cpp"], table), "general")
        self.assertEqual(messages.remedy_of("it is open", ["tools/x.cpp"], table), "")
        self.assertEqual(messages.remedy_of("it was closed", ["src/x.cpp"], table[2:]), "", "a remedy may be for some sources only")


if __name__ == "__main__":
    unittest.main(verbosity=2)
