"""Whether a case holds what it must, and the exit status of a bench."""

PASS, FAIL, OPEN, REPORTED = "pass", "FAIL", "open", "reported"


class Judgement:
    """Conditions one by one; it holds if all of them do."""

    def __init__(self):
        self.why, self.ok = [], True

    def hold(self, good, words):
        self.ok = self.ok and good
        self.why.append(words)

    def result(self, otherwise="no target"):
        """(verdict, why); `otherwise` is said where there was nothing to hold."""
        if not self.why:
            return REPORTED, otherwise
        return (PASS if self.ok else FAIL), "; ".join(self.why)


def keys(verdict, why, must):
    """What an entry of the JSON file says of a verdict."""
    return {"must": must, "ok": {PASS: True, FAIL: False}.get(verdict), "verdict": verdict, "why": why}


def complain(entries, is_peer):
    """Prints what does not hold and what failed; the exit status of the whole. A peer's failure is printed and is not ours."""
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
