"""Compares the lines that Open MPI's users get when a job has more communicators than groups, at HCOLL_ENABLE_SHARP=2 and 3, between hosts
of a lab. Each distinct line counts once, in the order of its first appearance: its number depends on how many communicators a program
makes.
"""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import case  # noqa: E402

MASKS = [
    (re.compile(r"^\[[^\[\]:]+:0:\d+ - \w+\.cpp:\d+\]"), "[HOST:0:PID - FILE:LINE]"),
    (re.compile(r"^\[[^\[\]:]+:\d+:0\]\[\w+\.c(?:pp)?:\d+:\w+\]"), "[HOST:PID:0][FILE:LINE:FUNCTION]"),
    (re.compile(r"job \(ID: \d+\)"), "job (ID: JOB)"),
    (re.compile(r"group id: [0-9a-f]+"), "group id: GROUP"),
    (re.compile(r"\(node \d+\)"), "(node NODE)"),
    (re.compile(r"\[group#:\d+\]"), "[group#:NUMBER]"),
]


def lines_of(text):
    lines = []
    for line in text.splitlines():
        for pattern, word in MASKS:
            line = pattern.sub(word, line)
        if line.startswith("[HOST:") and line not in lines:
            lines.append(line)
    return lines


class Lines(case.OnLab):
    maxDiff = None
    lab = case.Lab("golden")
    up_env = {"SUMAC_NODE_OST_COUNT": "512"}  # as the nodes had when the lines were recorded

    def check(self, level, ends_well):
        # Without multicast the group's address is zeros; with it a group of several nodes draws one. The expected lines
        # were recorded when jobs asked for 128 bytes by default.
        settings = {"HCOLL_ENABLE_SHARP": str(level), "SHARP_COLL_LOG_LEVEL": "3", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS": "1", "SUMAC_TEAM_AFTER": "0",
                    "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST": "128", "SHARP_COLL_ENABLE_MCAST_TARGET": "0"}
        exported = [word for name in settings for word in ("-x", name)]
        done = self.lab("mpirun", "-n", "4", *case.TCP, *case.YIELD, *case.component_flags(), *exported, str(case.PROGRAMS / "churn"), "1", env=settings)
        self.assertEqual(done.code == 0, ends_well, done.text)
        file = HERE / f"hcoll-enable-sharp-{level}.golden"
        found = "".join(line + "\n" for line in lines_of(done.err))
        if os.environ.get("SUMAC_UPDATE_GOLDEN"):
            file.write_text(found, encoding="utf-8")
        self.assertEqual(found, file.read_text(encoding="utf-8"), done.text)

    def test_level_2_goes_on_without(self):
        self.check(2, True)

    def test_level_3_ends_the_job(self):
        self.check(3, False)


if __name__ == "__main__":
    case.main()
