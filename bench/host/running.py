"""One started program (running hostbench), asked cell by cell. It sleeps between its turns."""

import contextlib
import json
import os
import select
import subprocess
import tempfile

from demolib.lab import Deadline, end, last_words, start as start_process


class ProgramFailed(Exception):
    """It did not start, died, hung or refused: the text says which."""


class TooSlow(ProgramFailed):
    """No answer in time. It may be alive, but nothing more can be asked of it."""


class Running:
    """`with Running(...) as program:` starts it and always ends it."""

    def __init__(self, program, ranks, pinned, options, seconds=60):
        self.program, self.ranks, self.pinned, self.options, self.seconds = program, ranks, pinned, options, seconds
        self.process = None
        self.turns = {}  # cell name -> iterations of a turn
        self.every = {}  # cell name -> it takes part in every so many-th cycle

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            # Files without a name: nothing stays behind, however this ends. They are opened through /proc.
            self.area = os.memfd_create("hostbench")
            undo.callback(os.close, self.area)
            command_read, self.commands = os.pipe()
            self.replies, reply_write = os.pipe()
            undo.callback(os.close, self.replies)
            undo.callback(self._close_commands)
            self.errors = undo.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
            argv, environment = self.program.command(self.ranks, self.options)
            here = f"/proc/{os.getpid()}/fd"
            argv = [*argv, "--ranks", str(self.ranks), "--area", f"{here}/{self.area}", "--commands", f"{here}/{command_read}",
                    "--replies", f"{here}/{reply_write}", *(["--pin"] if self.pinned else [])]
            try:
                self.process = start_process(argv, env=environment, stdout=self.errors, stderr=self.errors, start_new_session=True)
                undo.callback(end, self.process)
                self.buffer = b""
                self.hello = self._read(self.seconds)
            finally:
                # From now on the end of a pipe tells that the other side is gone.
                os.close(command_read)
                os.close(reply_write)
            self.undo = undo.pop_all()
        return self

    def _close_commands(self):
        if self.commands is not None:
            os.close(self.commands)
            self.commands = None

    def __exit__(self, kind, value, trace):
        self._close_commands()
        if kind is None:
            self.finish()
        self.undo.close()

    def finish(self):
        """Ends it in good order; returns all that it has printed."""
        self._close_commands()  # the end of commands ends the program
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        return self.output()

    def give_up(self):
        """It hangs or is broken: no polite end."""
        self._close_commands()
        end(self.process, grace=1.0)

    def words(self):
        self.errors.seek(0)
        text = self.errors.read()
        own = [line for line in text.splitlines() if line.startswith("hostbench:")]
        return own[0] if own else last_words(text)

    def output(self):
        self.errors.seek(0)
        return self.errors.read()

    def _read(self, seconds):
        deadline = Deadline(seconds)
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.replies], [], [], min(0.2, deadline.left()))
            if ready:
                more = os.read(self.replies, 65536)
                if not more:
                    self.process.wait(10)
                    raise ProgramFailed(f"ended: {self.words()}")
                self.buffer += more
            elif self.process.poll() is not None:
                raise ProgramFailed(f"ended with {self.process.returncode}: {self.words()}")
            elif deadline.left() <= 0:
                raise TooSlow(f"no answer in {seconds:.0f} s")
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, cell, seconds, iterations):
        try:
            os.write(self.commands, f"{cell.kind} {cell.bytes} {iterations} {cell.warmup(iterations)}\n".encode())
        except BrokenPipeError as gone:
            raise ProgramFailed(f"ended: {self.words()}") from gone
        answer = self._read(seconds)
        if "refused" in answer:
            raise ProgramFailed(f"{cell.kind} of {cell.bytes} bytes: {answer['refused']}")
        if answer["errors"]:
            raise ProgramFailed(f"{answer['errors']} of {answer['verified']} results of {cell.name} were wrong")
        return answer
