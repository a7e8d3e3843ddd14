"""`sumac up`, `status`, `down`: a newcomer types them first, and types them again; they must also work when something dies."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ground  # noqa: E402  pylint: disable=wrong-import-position
from harness.ground import BIN, SCRATCH  # noqa: E402  pylint: disable=wrong-import-position

DAEMONS = ("sharp_am", "sharp_an", "sharpd")


class Up(ground.Scenario):
    def setUp(self):
        self.folder = SCRATCH / self.id().split(".")[-1][:30]
        self.env = {"SUMAC_RUN_DIR": str(self.folder)}
        self.addCleanup(self.nothing_left)
        self.addCleanup(self.sumac, "down")

    def sumac(self, *words, programs=BIN):
        return ground.start([programs / "sumac", *words], self.env)

    def status(self):
        done = self.sumac("status", "--json")
        return done.code, json.loads(done.out)

    def up(self):
        done = self.sumac("up")
        self.assertEqual(done.code, 0, done.text)
        self.one_line(done.out, f"^export SHARP_COLL_SHARPD_SOCKET_NAME={self.folder}/sharpd.sock$")
        return done.err

    def test_a_shell_reads_the_directory_as_it_is(self):
        self.folder = SCRATCH / "it's; a $HOME"
        self.env = {"SUMAC_RUN_DIR": str(self.folder)}
        done = ground.start(["bash", "-c", f'eval "$({BIN}/sumac up)" && printf %s "$SHARP_COLL_SHARPD_SOCKET_NAME"'], self.env)
        self.assertEqual((done.code, done.out), (0, f"{self.folder}/sharpd.sock"), done.text)

    def pids(self):
        return {each["name"]: each["pid"] for each in self.status()[1]["daemons"]}

    def hello(self):
        done = ground.start([BIN / "sharp_hello"], {"SHARP_COLL_SHARPD_SOCKET_NAME": f"{self.folder}/sharpd.sock"})
        self.assertEqual(done.code, 0, done.text)

    def test_from_up_to_down(self):
        self.assertEqual(self.status(), (3, {"up": False}))
        said = self.up()
        for name in DAEMONS:
            self.assertRegex(said, rf"{name} \(pid \d+\) started")
        self.hello()
        code, words = self.status()
        self.assertEqual((code, [each["alive"] for each in words["daemons"]]), (0, [True] * 3), words)
        self.assertTrue(words["manager"]["nodes"][0]["registered"], words)
        for each in words["daemons"]:
            self.assertTrue(pathlib.Path(each["log"]).exists(), each)
        done = self.sumac("status")
        self.assertRegex(done.out, r"1 of 1 nodes registered, 1 sharpds, 0 jobs")
        fabric = next(self.folder.rglob("fabric.yaml")).read_text()
        self.assertIn(f"name: {socket.gethostname()}\n", fabric, "the page has the machine's name")

        before = self.pids()
        again = self.up()
        for name in DAEMONS:
            self.assertIn(f"{name} (pid {before[name]}) is up already", again)
        self.assertEqual(self.pids(), before)

        down = self.sumac("down")
        self.assertEqual((down.code, down.out), (0, ""), down.text)
        for name in DAEMONS:
            self.assertIn(f"{name} (pid {before[name]}) ended", down.err)
        self.assertFalse(self.folder.exists())
        down = self.sumac("down")
        self.assertEqual((down.code, down.err), (0, f"sumac: nothing is up (looked in {self.folder})\n"))

    def test_one_that_died_is_named_and_started_again(self):
        self.up()
        before = self.pids()
        for name in DAEMONS:
            os.kill(before[name], signal.SIGKILL)
            ground.until(lambda: self.status()[0] == 1, "status says that one has died")  # pylint: disable=cell-var-from-loop
            self.assertRegex(self.sumac("status").out, rf"{name} +has died")
            self.assertRegex(self.up(), rf"{name} \(pid {before[name]}\) has died")
            self.hello()

    def test_down_cleans_up_behind_the_dead(self):
        self.up()
        for pid in self.pids().values():
            os.kill(pid, signal.SIGKILL)
        ground.until(lambda: self.sumac("status").out.count("has died") == len(DAEMONS), "all are seen dead")
        down = self.sumac("down")
        self.assertEqual((down.code, down.err.count("had died before")), (0, 3), down.text)
        self.assertFalse(self.folder.exists())

    def test_two_at_once_start_one_of_each(self):
        both = [ground.begin([BIN / "sumac", "up"], env=self.env)
                for _ in range(2)]
        said = [each.communicate(timeout=60)[1] for each in both]
        self.assertEqual([each.returncode for each in both], [0, 0], said)
        self.assertEqual(sum(text.count("started") for text in said), 3, said)
        self.assertEqual(sum(text.count("is up already") for text in said), 3, said)

    def half(self, script):
        """Makes a bin folder whose sharp_an is a script."""
        programs = self.folder.with_suffix(".bin")
        programs.mkdir()
        for name in ("sumac", "sharp_am", "sharpd"):
            shutil.copy(BIN / name, programs)
        (programs / "sharp_an").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "sharp_an").chmod(0o755)
        return programs

    def test_a_daemon_that_does_not_start_takes_the_others_with_it(self):
        done = self.sumac("up", programs=self.half("echo 'sharp_an: the remedy'; exit 1"))
        self.assertEqual((done.code, done.out), (1, ""), done.text)
        self.one_line(done.err, "sharp_an ended at once with status 1; its last words: sharp_an: the remedy")
        self.assertFalse(self.folder.exists())

    def test_killed_in_the_middle_leaves_nothing_that_down_does_not_find(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            programs = self.half("exec sleep 1000")
            up = ground.processes.start([programs / "sumac", "up"], env=ground.environment(self.env), stderr=subprocess.DEVNULL)
            ground.until((self.folder / "private" / "sharp_an.pid").exists, "the node is on record")
            up.send_signal(number)
            up.wait(30)
            if number == signal.SIGINT:
                self.assertEqual((up.returncode, self.folder.exists()), (128 + signal.SIGINT, False))
            self.assertEqual(self.sumac("down").code, 0)
            self.nothing_left()
            shutil.rmtree(programs)

    def test_a_directory_that_is_not_ours_alone(self):
        self.folder.mkdir()
        self.folder.chmod(0o777)
        done = self.sumac("up")
        self.assertEqual(done.code, 1, done.text)
        self.one_line(done.err, str(self.folder), "not a directory of yours alone", "set SUMAC_RUN_DIR")
        self.assertEqual(os.listdir(self.folder), [])
        self.folder.chmod(0o700)
        (self.folder / "precious").write_text("not ours")
        self.up()
        self.assertEqual(self.sumac("down").code, 0)
        self.assertEqual(os.listdir(self.folder), ["precious"])


if __name__ == "__main__":
    ground.main()
