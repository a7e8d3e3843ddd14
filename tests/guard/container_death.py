"""Ranks of one host are in containers of their own, and one of them dies: the kernel reports its end to no process outside its PID
namespace. Three ranks share memory, two of them in new PID namespaces (unshare); one of these ends in the middle
of the job. The others, in any namespace, must name it instead of waiting for ever; with memory by memfd and by /dev/shm."""

import os
import subprocess

import common

LIMIT_S = 60  # a bound that only a rank that waits for ever reaches


def attack(rows, args):
    if os.geteuid() != 0:
        common.case.skip_or_fail("only root makes PID namespaces")
    rounds = 20 if args.long else 2
    program = common.BIN.parent / "tests" / "shm_test"
    waiting = 0
    for _ in range(rounds):
        try:
            done = subprocess.run([str(program), "--gtest_filter=Death.OfARankInAnotherPidNamespaceIsNamed"], check=False, capture_output=True,
                                  text=True, timeout=LIMIT_S, env=common.ground.environment())
        except subprocess.TimeoutExpired:
            waiting += 1
            continue
        if done.returncode != 0 or "[  PASSED  ] 1 test." not in done.stdout:
            print(done.stdout)
            waiting += 1
    rows.add("container-death: deaths in another PID namespace unseen", f"of {rounds} jobs", waiting, 0)


common.main(attack, __doc__)
