"""What disturbs a lab that is up: `sumac lab link` and `sumac lab daemon`; called by lab_test.py."""

import pathlib


def disturb(l, sumac, until, alive, send_code):
    """In lab `l` of test-4h, whose h1 and h2 have 1 MiB of /dev/shm: links go down and lose frames, daemons are stopped, killed and started."""
    say = lambda *words: sumac(words[0], "--name", l.name, *words[1:])
    change = lambda *words: (lambda done: (done.returncode, done.stdout, done.stderr))(say(*words))
    lost = lambda: sum(link["lost"] for link in l.status()["links"] if link["from"] == "h1")
    crossed = lambda: sum(link["frames"] for link in l.status()["links"] if link["from"] == "h1")

    def send(frames):
        before = crossed()
        l.python("h1", send_code, str(frames), "100")
        until(lambda: crossed() >= before + frames, "the link has seen all")

    assert change("daemon", "h1", "stop") == (0, "", ""), "sharpd would send frames of its own"
    send(50)
    assert lost() == 0
    assert change("link", "leaf1", "h1", "down") == (0, "", ""), "either end may come first"
    send(50)
    assert lost() >= 50
    assert "h1 -> leaf1 (down)" in say("status").stdout
    assert change("link", "h1", "leaf1", "loss", "0.5") == (0, "", "")
    before = lost()
    send(400)
    assert 120 < lost() - before < 280, lost() - before
    assert change("link", "h1", "leaf1", "up") == (0, "", "")
    before = lost()
    send(50)
    assert lost() == before
    shm = lambda host: int(l.exec(host, "stat", "-f", "-c", "%b %S", "/dev/shm").stdout.split()[0]) * 4096
    assert (shm("h1"), shm("h3") > 1 << 26) == (1 << 20, True), (shm("h1"), shm("h3"))
    for words, why in ((("h1", "h3", "down"), "no link joins h1 and h3; links there: h1 leaf1"), (("h1", "leaf1", "loss", "2"), "a number from 0 to 1"),
                       (("h1", "leaf1", "away"), "up, down, or loss")):
        done = say("link", *words)
        assert done.returncode == 1 and why in done.stderr and not done.stdout, done

    def node():
        return next(d for d in l.status()["daemons"] if d["name"] == "sharp_an an-leaf1")

    first = node()
    state = lambda: pathlib.Path(f"/proc/{first['pid']}/stat").read_text().rsplit(")", 1)[1].split()[0]
    assert change("daemon", "an-leaf1", "stop") == (0, "", "")
    until(lambda: state() == "T", "it is stopped")
    assert change("daemon", "an-leaf1", "cont") == (0, "", "")
    until(lambda: state() != "T", "it goes on")
    assert "runs already" in say("daemon", "an-leaf1", "start").stderr
    assert change("daemon", "an-leaf1", "kill") == (0, "", "")
    assert not node()["alive"] and not alive(first["pid"])
    assert "does not run: start it first" in say("daemon", "an-leaf1", "kill").stderr
    assert change("daemon", "an-leaf1", "start") == (0, "", "")
    again = node()
    assert again["alive"] and again["pid"] != first["pid"] and alive(again["pid"]), again
    log = pathlib.Path(again["log"]).read_text()
    assert log.count("ready") >= 2 or len(log.splitlines()) >= 2, log
    for words, why in ((("an-leaf9", "kill"), "it has manager, an-root"), (("manager", "poke"), "stop, cont, kill or start")):
        done = say("daemon", *words)
        assert done.returncode == 1 and why in done.stderr and not done.stdout, done
    assert change("daemon", "manager", "stop") == (0, "", "")
