"""Judges whether a case holds its limits, and computes the exit status of a bench."""

PASS, FAIL, OPEN, REPORTED = "pass", "FAIL", "open", "reported"


class Judgement:
    """A list of conditions; the judgement passes if all of them hold."""

    def __init__(self):
        self.why, self.ok = [], True

    def hold(self, good, words):
        self.ok = self.ok and good
        self.why.append(words)

    def result(self, otherwise="no target"):
        """Returns (verdict, why); `otherwise` is the reason if there was no condition."""
        if not self.why:
            return REPORTED, otherwise
        return (PASS if self.ok else FAIL), "; ".join(self.why)


def keys(verdict, why, must):
    """Returns the keys of a JSON entry that describe a verdict."""
    return {"must": must, "ok": {PASS: True, FAIL: False}.get(verdict), "verdict": verdict, "why": why}


def complain(entries, is_peer):
    """Prints the cases that do not hold and the runs that failed; returns the exit status. A failure of a peer is printed but does not count."""
    status = 0
    for one in entries:
        for column, failures in one.get("failures", {}).items():
            if column != "sumac":
                print(f"{one['case']}: {column}: {failures[0]}")
                status = status if is_peer(column) else 1
        if one["verdict"] == FAIL or (one["verdict"] == OPEN and one["sumac"] is not None):
            print(f"{one['case']}: must hold {one['must']}: {one['why']}")
        if one["ok"] is not True and one["verdict"] != REPORTED:
            status = 1
    return status
