"""Small operations that the kernels of a lab's nodes add up, for lab_test.py."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal


def refused(l):
    """Returns the line of a node whose kernel does not take the program."""
    for daemon in l.status()["daemons"]:
        if found := re.search("SUMAC_NODE_HOP=auto: .*", pathlib.Path(daemon["log"]).read_text()):
            return found[0]
    return None


def add_up(l, sumac, folder):
    """In lab `l` of test-4h all results are right and go by datagrams: both ways in one communicator, and all kinds where links lose frames."""
    def results(least, *words):
        done = sumac("mpirun", "--name", l.name, "-n", "4", "-x", "SHARP_COLL_STATS_DUMP_MODE=2", "-x", "SHARP_COLL_LOG_LEVEL=3", *words)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert not any(result["errors"] for result in found), done.stdout
        datagrams = re.search(r"datagrams:(\d+)", done.stdout + done.stderr)
        assert datagrams and int(datagrams[1]) > least, done.stderr
        return found

    cases = [word for case in ("allreduce:8:200", "allreduce:16K:20", "barrier::200", "allreduce:128:200") for word in ("--case", case)]
    assert len(results(4 * 400, folder / "sharp-client", *cases)) == 4
    for ends in (("h1", "leaf1"), ("h3", "leaf2"), ("leaf1", "root")):
        assert sumac("link", "--name", l.name, *ends, "loss", "0.03").returncode == 0
    lost = lambda: sum(link["lost"] for link in l.status()["links"])
    before = lost()
    assert results(4 * 900, folder / "hop-mixed", "--calls", "1000")[0]["calls"] == 1000
    assert lost() > before + 100, "the links lose frames"


def outlive(l, sumac, folder, until):
    """Under a job sharp_an of a leaf and of the root are killed and started again, and all results are right."""
    daemon = lambda name: next(one for one in l.status()["daemons"] if one["place"] == name)
    granted = lambda name: pathlib.Path(daemon(name)["log"]).read_text().count(" granted: ")
    before = granted("an-leaf1")
    with concurrent.futures.ThreadPoolExecutor(1) as jobs:
        job = jobs.submit(sumac, "mpirun", "--name", l.name, "-n", "4", "-x", "SUMAC_RECOVERY=1", folder / "hop-mixed", "--calls", "8000", timeout=120)
        until(lambda: granted("an-leaf1") > before, "the job has its grant")
        for name in ("an-leaf1", "an-root"):
            os.kill(daemon(name)["pid"], signal.SIGKILL)
            until(lambda: not daemon(name)["alive"], f"{name} is dead")
            started = sumac("daemon", "--name", l.name, name, "start")
            assert started.returncode == 0, started.stderr
        done = job.result()
    assert done.returncode == 0, done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert found["calls"] == 8000 and found["errors"] == 0, found
