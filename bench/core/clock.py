"""Times for people, and a program that ends cleanly however it is told to."""

import signal


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def end_as_by_ctrl_c():
    """SIGTERM and SIGHUP become KeyboardInterrupt: what was started is ended on the way out."""

    def stop(number, _):
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
