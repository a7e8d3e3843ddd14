"""Makes faults in a lab and looks whether the doctor names them with their remedy, and nothing else."""

import ctypes
import re
import time

import faults

UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)


def clock_is_synchronised():
    return ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)) != UNSYNCHRONISED


def alarms(found, true_ones):
    """The findings that are neither ok nor of a subject that is true on this machine."""
    known = set(true_ones) | (set() if clock_is_synchronised() else {"clock"})
    return [(host, one) for host, one in found if one["health"] != "ok" and one["subject"] not in known]


def told(host, one):
    return f"{one['health']} {one['subject']}{' on ' + host if host else ''}: {one['found']}"


class Result:
    def __init__(self):
        self.missed, self.false, self.made, self.not_made = [], [], 0, []


def healthy(lab, result, when):
    status, found = lab.doctor()
    wrong = alarms(found, ())
    result.false += [f"{when}: {told(host, one)}" for host, one in wrong]
    if not wrong and status != 0:
        result.false.append(f"{when}: the doctor ended with {status}")


def try_fault(lab, fault, result):
    try:
        with fault.make(lab) as options:
            began = time.monotonic()
            status, found = lab.doctor(**options)
            took = time.monotonic() - began
    except faults.NotHere as why:
        result.not_made.append(f"{fault.name}: {why}")
        print(f"  - not made: {fault.name}: {why}", flush=True)
        return
    result.made += 1
    named = [(host, one) for host, one in found if host == fault.where and one["subject"] == fault.subject and one["health"] == fault.health
             and re.search(fault.found, one["found"]) and re.search(fault.remedy, one["remedy"])]
    if not named or status != int(any(one["health"] == "BAD" for _, one in found)):
        near = "; ".join(told(host, one) + " -> " + one["remedy"] for host, one in found if one["subject"] == fault.subject)
        result.missed.append(f"{fault.name} (exit status {status}): {near or 'no finding on ' + fault.subject}")
        print(f"  - MISSED: {result.missed[-1]}", flush=True)
    else:
        print(f"  - {fault.name} ({took:.1f} s)\n      {told(*named[0])}\n      -> {named[0][1]['remedy']}", flush=True)
    for host, one in alarms(found, {fault.subject, *fault.also}):
        result.false.append(f"while {fault.name}: {told(host, one)}")
        print(f"  - FALSE: {result.false[-1]}", flush=True)
    remedyless = [told(host, one) for host, one in found if one["health"] != "ok" and not one["remedy"]]
    result.missed += [f"without a remedy: {each}" for each in remedyless]


def run(lab, chosen):
    result = Result()
    healthy(lab, result, "at first")
    for fault in chosen:
        if fault is faults.FAULTS[-1]:
            healthy(lab, result, "after all faults were undone")
        try_fault(lab, fault, result)
    if faults.FAULTS[-1] not in chosen:
        healthy(lab, result, "after all faults were undone")
    return result
