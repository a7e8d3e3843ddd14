"""The starter of processes. Each ends when the process that started it ends, also when that one is killed, so that no test leaves one."""

import ctypes
import os
import signal
import subprocess

PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def dies_with_us(number=signal.SIGKILL):
    """Runs in a child that is about to become another program: the kernel sends it the signal when we end, also when we are killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, number)


def start(command, death=signal.SIGTERM, prepare=None, **options):
    """Starts the command and returns its subprocess.Popen; the options are Popen's. Standard input is empty unless `stdin` says otherwise.
    `death` is the signal that the process gets when we end: SIGTERM, so that it takes down what it has started itself; None: it lives on.
    `prepare` runs in the child before it becomes the program."""
    def before():
        if death is not None:
            dies_with_us(death)
        if prepare is not None:
            prepare()

    return subprocess.Popen([str(word) for word in command], stdin=options.pop("stdin", DEVNULL), preexec_fn=before, **options)


def start_ready(command, **options):
    """Starts a daemon with `--ready-fd` and waits until it is ready or has ended. Returns (its Popen, whether it is ready)."""
    heard, said = os.pipe()
    try:
        process = start([*command, "--ready-fd", said], pass_fds=[said], **options)
    finally:
        os.close(said)
        ready = os.fdopen(heard, "rb")
    with ready:
        return process, ready.read() == b"ready\n"


def wait_for_line(process, words):
    """Reads the standard output up to a line that has the words. Returns (whether it came, all that was read)."""
    heard = ""
    for line in process.stdout:
        heard += line
        if words in line:
            return True, heard
    return False, heard


def end(process, grace=3.0):
    """Ends a child of ours, politely first, and reaps it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
