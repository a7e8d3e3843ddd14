"""Tries files before they are needed and writes them so that a failure leaves what was there."""

import contextlib
import errno
import os
import pathlib
import secrets
import shutil
import stat

# A file that is there may take data where its folder takes no new name: a mount point, a folder of somebody else.
CLOSED_FOLDER = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


def is_renamed_over(path):
    """Devices, pipes and the files behind our own streams (/dev/stdout) are written where they are."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and not any(os.path.samestat(found, os.fstat(number)) for number in (1, 2))


def write_beside(path, data):
    """Writes a new file and gives it the name, so that a failure leaves the old file as it was. Without `data` it only tries."""
    beside = os.path.join(os.path.dirname(path), f".sumac-bench-{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            file.write(data if data is not None else bytes(4096))  # A full file system takes no block.
        if data is not None:
            if os.path.exists(path):
                shutil.copymode(path, beside)
            os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def write(path, data):
    if is_renamed_over(path):
        try:
            return write_beside(os.path.realpath(path), data)
        except OSError as why:
            if why.errno not in CLOSED_FOLDER or not os.path.exists(path):
                raise
    with open(path, "wb" if is_renamed_over(path) else "ab") as file:
        file.write(data)
    return None


def try_to_write(path):
    """Raises OSError if `path` cannot be written, and changes nothing: results of minutes must not be lost to a wrong path."""
    exists = True
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISFIFO(mode):  # The reader of a pipe would see its end.
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
            try:
                os.write(file, b"")  # /dev/full refuses even nothing.
            finally:
                os.close(file)
    except FileNotFoundError:
        exists = False
    if is_renamed_over(path):
        try:
            write_beside(os.path.realpath(path), None)
        except OSError as why:
            if why.errno not in CLOSED_FOLDER or not exists:
                raise


def obstacle(path):
    """Returns why `path` cannot be written and what to do, or None."""
    try:
        try_to_write(path)
    except FileNotFoundError:
        folder = pathlib.Path(path).resolve().parent
        return f"the folder {folder} takes no new file: name another" if folder.is_dir() else f"there is no folder {folder}: make it, or name another"
    except OSError as why:
        return f"{why.strerror}: name a file that you may write"
    return None
