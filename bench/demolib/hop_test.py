import tempfile
import unittest
from pathlib import Path

from demolib import hop


class Allow(unittest.TestCase):
    def answer(self, words, environment):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "sharp_an"
            program.write_text(f"#!/bin/sh\n[ \"$*\" = '--hop trial' ] && echo '{words}'\n")
            program.chmod(0o755)
            return hop.allow(program, environment)

    def test_where_the_kernel_takes_the_program_the_nodes_are_asked_to_use_it(self):
        environment = {}
        self.assertEqual(self.answer("hop: allowed", environment), hop.USED)
        self.assertEqual(environment, {"SUMAC_NODE_HOP": "auto"})

    def test_elsewhere_the_line_has_the_reason(self):
        environment = {}
        self.assertIn("(load the program: Operation not permitted)", self.answer("hop: load the program: Operation not permitted", environment))
        self.assertIn("does not say", self.answer("Segmentation fault", environment))
        self.assertEqual(environment, {})

    def test_who_has_set_the_option_has_decided(self):
        environment = {"SUMAC_NODE_HOP": "off"}
        self.assertIn("SUMAC_NODE_HOP=off was set", self.answer("hop: allowed", environment))
        self.assertEqual(environment, {"SUMAC_NODE_HOP": "off"})


if __name__ == "__main__":
    unittest.main()
