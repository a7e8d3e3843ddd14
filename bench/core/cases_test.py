import unittest

from core.cases import chosen

NAMES = ["barrier-2r", "bcast-8B-2r", "bcast-1KiB-2r", "comm-create"]


class Chosen(unittest.TestCase):
    def test_names_and_patterns_in_the_order_of_the_cases(self):
        for words, expected in (("", NAMES), (None, NAMES), ("comm-create,barrier-2r", ["barrier-2r", "comm-create"]),
                                ("bcast*", NAMES[1:3]), ("bcast-8B-2r,bcast*,", NAMES[1:3])):
            self.assertEqual(chosen(words, NAMES), expected, words)

    def test_a_name_of_several_cases_is_one(self):
        self.assertEqual(chosen("", ["a", "a", "b"]), ["a", "b"])

    def test_a_word_that_names_none_is_refused_with_what_there_is(self):
        with self.assertRaisesRegex(ValueError, r"no case 'x\*': barrier-2r, bcast-8B-2r"):
            chosen("bcast*,x*", NAMES)

    def test_of_many_cases_the_likest_are_named(self):
        many = [f"case-{i}" for i in range(100)]
        with self.assertRaisesRegex(ValueError, r"no case 'case-7x\*': (case-\d+, )*case-7\b.* and 92 others$"):
            chosen("case-7x*", many)


if __name__ == "__main__":
    unittest.main()
