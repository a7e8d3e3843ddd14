"""Multicasts in a lab, for lab_test.py: it starts a sender and listeners, and waits until every datagram has arrived or is lost."""
import sys

HEAR = """
import socket, sys, time
mine, group = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind(("", 7002))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(mine))
print("listens", flush=True)
heard = []
while True:
    data = s.recv(2000); at = time.monotonic_ns()
    if data == b"end": break
    heard.append((int(data[:8]), at))
print(len(heard), len({n for n, _ in heard}), heard[0][1] if heard else 0)
"""
TELL = """
import socket, sys, time
mine, group, count, size = sys.argv[1:5]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(mine))
print(time.monotonic_ns())
for i in range(int(count)): s.sendto(b"%08d" % i + bytes(int(size) - 8), (group, 7002))
"""
END = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name in sys.argv[1:]:
    for _ in range(100): s.sendto(b"end", (name, 7002))
"""


def heard(l, until, source, listeners, count, size, crossed):
    """Returns for each listener: datagrams received, different ones, and ns from the first one's sending to its arrival. `crossed(status)`
    returns whether none is in flight any more."""
    at = {p["name"]: p["address"] for p in l.status()["places"]}
    hearing = [l.start(name, sys.executable, "-c", HEAR, at[name], "239.255.9.9") for name in listeners]
    for each in hearing:
        assert each.stdout.readline() == "listens\n"
    sent = int(l.python(source, TELL, at[source], "239.255.9.9", str(count), str(size)))
    until(lambda: crossed(l.status()), "every multicast has gone its ways")
    # The end marker comes from a node at the listeners' own switch, so it crosses no lossy link.
    l.python("manager", END, *listeners)
    counts = {}
    for name, each in zip(listeners, hearing):
        all_of_them, different, first = map(int, each.communicate(timeout=20)[0].split())
        counts[name] = (all_of_them, different, first - sent)
    return counts
