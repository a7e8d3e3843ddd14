#!/usr/bin/env python3
"""Members of a job that is over keep its resources. An ordinary user takes the whole share of one user, joins a group, ends the
process so that sharpd notices, and keeps the connection to the node. Another user's job must get its default quota at once, the same
user's after at most 30 s (long form); by then the node has closed the connection too."""

import os
import time

import common
import tenant


def hold(path, tell, end, long):
    job = tenant.everything(path)
    member = job.member()
    member.join(member.open(1, 1), 0, 1)
    if member.joined() is None:
        raise AssertionError("the group does not stand")
    job.dies()
    start = time.monotonic()
    os.write(tell, b"h")
    answer = {"osts": job.quota.osts}
    if long:
        answer["seconds"] = tenant.granted_after(path, 8, start)
        answer["open"] = still_open(member)
    else:
        os.read(end, 1)
    return answer


def still_open(member):
    member.link.socket.settimeout(5)
    try:
        while True:
            member.link.read()
    except ConnectionError:
        return 0
    except TimeoutError:
        return 1


def attack(rows, args):
    house = common.House("ended-job-resources")
    heard, tell = os.pipe()
    end, done = os.pipe()
    stranger = common.Stranger(hold, str(house.socket), tell, end, args.long)
    os.close(tell)
    if os.read(heard, 1) != b"h":
        stranger.result()
    seconds = tenant.granted_after(house.socket, 9, time.monotonic(), patience=0)
    rows.add("ended-job-resources: another user's default quota", "s until it is granted", seconds, 2.5)
    os.write(done, b"e")
    got = stranger.result(90)
    rows.add("ended-job-resources: what one user may hold", "OSTs of 32768", got["osts"], 16384)
    if args.long:
        rows.add("ended-job-resources: the same user's default quota", "s until it is granted", got["seconds"], 31)
        rows.add("ended-job-resources: links of a job that ended 30 s ago", "open", got["open"], 0)
    house.close()


if __name__ == "__main__":
    common.main(attack, __doc__)
