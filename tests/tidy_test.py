#!/usr/bin/env python3
"""Tests how tests/tidy.py reads code: comments of JavaScript, modules or names that nobody uses, and the functions of C++ classes."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import tidy  # noqa: E402


class JavaScript(unittest.TestCase):
    def comments(self, text):
        return [match["comment"] for match in tidy.JS_TOKEN.finditer(text) if match["comment"]]

    def test_comments(self):
        rows = (
            ("a line and a block", "a(); // One.\n/* Two. */", ["// One.", "/* Two. */"]),
            ("not in a string or a template", "a('//', \"/* x */\", `// ${b}`);", []),
            ("not in a regular expression", "a = /[/]\\/\\//.test(b);", []),
            ("a quote in a regular expression opens no string", "a(/'/); // One.", ["// One."]),
            ("a division is none", "a = b / 2; // One.\nc = d / 3;", ["// One."]),
        )
        for name, text, found in rows:
            with self.subTest(name):
                self.assertEqual(self.comments(text), found)

    def dead(self, **files):
        texts = {f"w/{name.replace('_', '.')}": text for name, text in files.items()}
        return tidy.dead_modules(list(texts), texts.get)

    def test_modules(self):
        page = '<script type="module" src="a.js"></script>'
        self.assertEqual(self.dead(a_js="import { b } from './b.js';\nuse(...b());\n", b_js="export function b() {}\n", i_html=page), [])
        self.assertEqual(self.dead(a_js="import './b.js';\n", b_js="", i_html=page), [])
        rows = (
            ("a name that is not there", "import { c } from './b.js';\nc();\n", "const c = 1;\n", "exports no such name"),
            ("an import that is not used", "import { b } from './b.js';\n", "export const b = 1;\n", "does not use it"),
            ("a field of that name is no use", "import { b } from './b.js';\nx.b();\n", "export const b = 1;\n", "does not use it"),
            ("an export for nobody", "import { b } from './b.js';\nb();\n", "const d = 1;\nexport const b = 1;\nexport { d };\n", "exports d, which no other"),
            ("a module for nobody", "", "", "nothing imports or starts it"),
        )
        for name, a, b, words in rows:
            with self.subTest(name):
                found = self.dead(a_js=a, b_js=b, i_html=page)
                self.assertEqual(len(found), 1, found)
                self.assertIn(words, found[0])


class Classes(unittest.TestCase):
    def test_functions(self):
        rows = (
            ("declared and defined", "class A { void a(); int b() const { return f(1); } };", {"A": 2}),
            ("constructors, operators and templates", "struct A : B { A(int x) : x_(x) {} ~A(); A& operator=(const A&) = delete; template <class T> void t(); };", {"A": 4}),
            ("no fields", "struct A { int a = f(1); std::function<int()> g = h; Time t{}; using B = int(); /* void c(); */ };", {"A": 0}),
            ("a class inside has its own", "class A { struct B { void b(); }; void a(); };", {"A": 1, "B": 1}),
            ("no declaration of a name", "class A; enum class E { a };", {"E": 0}),
        )
        for name, text, found in rows:
            with self.subTest(name):
                self.assertEqual(tidy.functions_of(text), found)


class Worlds(unittest.TestCase):
    def test_worlds(self):
        clock, queue = "struct W {\n  Time now_ = at(Seconds(1));\n", "  std::deque<Message> waiting_;\n};"
        rows = (
            ("a clock and a queue", "src/a/b_test.cpp", clock + queue, True),
            ("in a helper of tests", "src/a/test_b.hpp", clock + queue, True),
            ("a heap", "sim/a.cpp", "Time now{};\nstd::push_heap(a, b);", True),
            ("a vector of what was said", "src/a/b_test.cpp", clock + "std::vector<std::pair<Id, HostUp>> queued_;", True),
            ("in Python", "tests/a/b_test.py", "self.now = 0\nheapq.heappush(a, b)", True),
            ("a clock alone", "src/a/b_test.cpp", clock + "std::vector<int> all_;", False),
            ("a queue alone", "src/a/b_test.cpp", "void f(Time now);\n" + queue, False),
            ("a comment", "src/a/b_test.cpp", clock + "// std::deque<Message>", False),
            ("the queue of sim", "src/a/b_test.cpp", "sim::EventQueue<Message> events;\nstd::deque<int> a;", False),
            ("no test", "src/a/b.cpp", clock + queue, False),
        )
        for name, path, text, is_world in rows:
            with self.subTest(name):
                self.assertEqual(tidy.test_worlds([path], lambda _, body=text: body), {path} if is_world else set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
