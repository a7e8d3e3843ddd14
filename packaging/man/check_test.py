#!/usr/bin/env python3
"""The manual pages: every installed program has one, it contains every option, and man reads it without a warning.

usage: check_test.py BUILD
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
INSTALL = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "Install.cmake"
MAN = BUILD / "man"
PAGES = sorted(MAN.glob("man?/*.?"))
DAEMONS = ("sharp_am", "sharp_an", "sharpd")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


class Pages(unittest.TestCase):
    def test_everything_has_one(self):
        """The programs that `cmake --install` puts into bin, as cmake/Install.cmake names them: those and no others have a page."""
        text = INSTALL.read_text()
        programs = re.search(r"install\(TARGETS ([^)]*?) RUNTIME DESTINATION bin\)", text)[1].split()
        programs += [pathlib.PurePath(path).name for path in re.findall(r"\S+", re.search(r"install\(PROGRAMS ([^)]*?)\s+DESTINATION bin\)", text)[1])]
        self.assertGreater(len(programs), 9)
        wanted = {f"{name}.{8 if name in (*DAEMONS, 'sharp_daemons_setup.sh') else 1}" for name in programs}
        for name in programs:
            self.assertTrue((BUILD / "bin" / name).is_file(), name)
        self.assertEqual({page.name for page in PAGES}, wanted)

    def test_every_option_is_there(self):
        """The page equals the output of the program as built now, so an outdated page is found."""
        for name in DAEMONS:
            page = (MAN / "man8" / f"{name}.8").read_text().replace("\\-", "-")
            options = re.findall(r"^  --([^\s,]+)", run(BUILD / "bin" / name, "--help").stdout, re.MULTILINE)
            self.assertGreater(len(options), 5, name)
            for option in options:
                self.assertIn(f"--{option}", page, f"{name}: build the target `manual`")
        page = (MAN / "man1" / "sumac.1").read_text().replace("\\-", "-")
        subcommands = re.findall(r"^  (\S+)", run(BUILD / "bin" / "sumac", "help").stdout, re.MULTILINE)
        self.assertGreater(len(subcommands), 8)
        for name in subcommands:
            self.assertIn(f".SH SUMAC {name.upper()}\n", page)
        page = (MAN / "man1" / "sharp_coll_dump_config.1").read_text()
        self.assertIn("SHARP_COLL_JOB_QUOTA_OSTS=", page)

    def test_pages_are_pages(self):
        for page in PAGES:
            text = page.read_text()
            for title in ("NAME", "SEE ALSO"):
                self.assertIn(f".SH {title}\n", text, page)
            for line in text.splitlines():
                self.assertRegex(line, r"^(?!['.])|^\.(TH|SH|TP|PP|BI?|BR|I|br|nf|fi)\b", page)

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_groff_has_nothing_to_say(self):
        for page in PAGES:
            done = run("groff", "-man", "-Tascii", "-ww", "-rLL=120n", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertIn(page.stem, re.sub(".\x08", "", done.stdout))  # a bold letter is printed as letter, backspace, letter

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_mandoc_has_nothing_to_say(self):
        for page in PAGES:
            done = run("mandoc", "-T", "lint", "-W", "warning", page)
            self.assertEqual((done.returncode, done.stdout), (0, ""), page)

    @unittest.skipUnless(shutil.which("man"), "no man here")
    def test_man_shows_them(self):
        for page in PAGES:
            done = run("man", "--warnings", "-l", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertIn(page.stem, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
