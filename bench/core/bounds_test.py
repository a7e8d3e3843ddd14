import stat
import tempfile
import unittest
from pathlib import Path

from core import bounds


class Bounds(unittest.TestCase):
    def test_a_method_s_time_is_its_bytes_times_the_time_of_a_byte(self):
        said = {"ring": {"fixed_s": 1.0, "per_byte_s": 2e-9}, "kinds": {"bcast": {"tree": {"per_byte_s": 1e-9}}}}
        self.assertAlmostEqual(bounds.stream_ms(said, ("ring",), 1000), 2e-3)
        self.assertAlmostEqual(bounds.stream_ms(said, ("kinds", "bcast", "tree"), 1000), 1e-3)

    def test_the_program_is_asked_once_for_a_fabric_and_its_error_is_passed_on(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "sumac")
            program.write_text('#!/bin/sh\necho x >> "$0.calls"\ncase $3 in *good*) echo "{}" ;; *) echo "no such file" >&2; exit 1 ;; esac\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            self.assertEqual([bounds.of_fabric(program, "good.yaml") for _ in range(2)], [{}, {}])
            self.assertEqual(Path(f"{program}.calls").read_text(), "x\n")
            with self.assertRaisesRegex(RuntimeError, "bad.yaml: no such file"):
                bounds.of_fabric(program, "bad.yaml")


if __name__ == "__main__":
    unittest.main()
