"""Prints times for people, and ends a program cleanly on every signal that asks for it."""

import signal


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def end_as_by_ctrl_c():
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt, so that the program ends its children on the way out. A signal that is ignored,
    as SIGHUP is behind nohup, stays so."""

    def stop(number, _):
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
