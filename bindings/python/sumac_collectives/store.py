"""A store of our own: rank 0 serves a map from names to bytes, over TCP or a socket of this host.

It takes ranks until all have met and lives as long as the process, since later teams need it too. A client speaks one frame
and reads one: `verb (1 byte), length of the name (4), length of the value (4), name, value`, numbers in network order. The
value of a `get` is how many seconds it waits; its answer comes when the value is there, or is the verb `none`. Who can connect can join: on TCP that is a matter of the network, as with
PyTorch's own store; on this host's socket it is this user alone. Whoever connects without joining holds up nobody: the numbers
of connections and bytes have a bound, and a wait has an end.
"""
from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import threading
import time
import typing

_HEAD = struct.Struct("!BII")
_SECONDS = struct.Struct("!d")
_SET, _GET, _NONE = 1, 2, 3
_NAME_MAX, _VALUE_MAX, _WAIT_MAX = 1024, 1 << 20, 60.0
_MORE_CONNECTIONS = 64  # Beside those of the ranks.
_BYTES_MAX, _BYTES_MAX_RANK = 64 << 20, 4 << 20  # The bound of all values; a team takes some KiB of each rank.
_NAMES = 8
_PAUSE = 0.1  # While this process has no descriptor left.

Address = tuple[str, int] | str
"""Host and port, or the name of a socket of this host."""


def _read(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionError("the store's other end closed the connection")
        parts += part
    return bytes(parts)


def _read_frame(connection: socket.socket) -> tuple[int, bytes, bytes]:
    verb, name_length, value_length = _HEAD.unpack(_read(connection, _HEAD.size))
    if verb not in (_SET, _GET, _NONE) or name_length > _NAME_MAX or value_length > _VALUE_MAX:
        raise ConnectionError("a peer of the store speaks something else")
    return verb, _read(connection, name_length), _read(connection, value_length)


def _frame(verb: int, name: bytes, value: bytes) -> bytes:
    return _HEAD.pack(verb, len(name), len(value)) + name + value


def _is_this_user(connection: socket.socket) -> bool:
    if connection.family != socket.AF_UNIX:
        return True
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.getuid())


def _names(address: Address) -> list[Address]:
    """Where a store of this address may be. Another user may have taken a name of this host, which anybody can."""
    return [address, *(f"{address}-{again}" for again in range(1, _NAMES))] if isinstance(address, str) else [address]


def _is_foreign(name: Address) -> bool:
    """True if another user serves under this name of this host."""
    if not isinstance(name, str):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect("\0" + name)
        except OSError:
            return False
        return not _is_this_user(probe)


def _text(address: Address) -> str:
    return address if isinstance(address, str) else f"{address[0]}:{address[1]}"


def _socket_for(address: Address) -> tuple[socket.socket, typing.Any]:
    if isinstance(address, str):
        # An abstract name leaves no file behind.
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), "\0" + address
    family, kind, protocol, _, where = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    return socket.socket(family, kind, protocol), where


class Server:
    """Serves `size` ranks until the process ends. Raises OSError with the address if it cannot listen there."""

    def __init__(self, address: Address, size: int) -> None:
        self._values: dict[bytes, bytes] = {}
        self._bytes, self._bytes_max = 0, _BYTES_MAX + size * _BYTES_MAX_RANK
        self._changed = threading.Condition()
        self._connections: dict[socket.socket, bool] = {}  # In the order of their coming; true: it has stored something.
        self._connections_max = size + _MORE_CONNECTIONS
        self._has_met = False
        names = _names(address)
        while True:
            name = names.pop(0)
            self._listener, where = _socket_for(name)
            try:
                if not isinstance(name, str):
                    self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._listener.bind(where)
                self._listener.listen(128)
                break
            except OSError as error:
                self._listener.close()
                if names and error.errno == errno.EADDRINUSE and _is_foreign(name):
                    continue
                raise OSError(error.errno, f"rank 0 cannot serve at {_text(name)}: {error.strerror}; "
                                           "choose another MASTER_PORT, or end the program that has it") from error
        threading.Thread(target=self._accept, daemon=True, name="sumac-store").start()

    def has_met(self) -> None:
        """All ranks are connected: nobody else may come any more."""
        self._has_met = True
        self._listener.shutdown(socket.SHUT_RDWR)  # Ends accept(), which close() would not.
        self._listener.close()

    def _accept(self) -> None:
        while not self._has_met:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                # Others may have taken all descriptors of this process, for a while.
                time.sleep(_PAUSE)
                continue
            if not _is_this_user(connection) or not self._has_room():
                connection.close()
                continue
            with self._changed:
                self._connections[connection] = False
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name="sumac-store").start()

    def _has_room(self) -> bool:
        """Makes room, if there is none, by ending the oldest connection that has stored nothing: a rank stores at once."""
        with self._changed:
            if len(self._connections) < self._connections_max:
                return True
            for connection, is_rank in self._connections.items():
                if not is_rank:
                    del self._connections[connection]
                    with contextlib.suppress(OSError):  # The other end may be gone.
                        connection.shutdown(socket.SHUT_RDWR)
                    return True
            return False

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while True:
                    verb, name, value = _read_frame(connection)
                    with self._changed:
                        if verb == _SET:
                            self._store(connection, name, value)
                            value = b""
                        else:
                            seconds = _SECONDS.unpack(value)[0]
                            if not seconds >= 0:  # Also a NaN, with which the wait would never sleep.
                                raise ConnectionError("a peer of the store speaks something else")
                            self._changed.wait_for(lambda name=name: name in self._values,  # type: ignore[misc]
                                                   min(seconds, _WAIT_MAX))
                            verb, value = (_GET, self._values[name]) if name in self._values else (_NONE, b"")
                    connection.sendall(_frame(verb, name, value))
            except (ConnectionError, OSError, struct.error):
                return  # That client is gone; nobody else is concerned.
            finally:
                with self._changed:
                    self._connections.pop(connection, None)

    def _store(self, connection: socket.socket, name: bytes, value: bytes) -> None:
        """Keeps the value; the caller holds the lock."""
        before = len(name) + len(self._values[name]) if name in self._values else 0
        after = self._bytes - before + len(name) + len(value)
        if after > self._bytes_max:
            raise ConnectionError  # The store is full; that client learns it by the end of its connection.
        self._bytes, self._values[name] = after, value
        if connection in self._connections:
            self._connections[connection] = True
        self._changed.notify_all()


class Client:
    """One rank's connection.

    Raises TimeoutError, which names the address, if rank 0 does not serve there within `timeout` seconds, or if a value
    does not come.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self._address, self._timeout = address, timeout
        self.server: Server | None = None  # At rank 0.
        self._lock = threading.Lock()
        self._connection = self._connect()

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self._timeout
        pause = 0.001
        while True:
            foreign = ""
            for name in _names(self._address):
                connection, where = _socket_for(name)
                connection.settimeout(self._timeout)
                try:
                    connection.connect(where)
                except OSError as error:
                    connection.close()
                    failed = error
                    continue
                if _is_this_user(connection):
                    return connection
                connection.close()
                foreign = _text(name)
            if time.monotonic() + pause > end:
                if foreign:
                    raise PermissionError(f"another user serves at {foreign}")
                raise TimeoutError(f"nobody serves at {_text(self._address)} ({failed.strerror or failed}): rank 0 must "
                                   "run there; check MASTER_ADDR and MASTER_PORT") from failed
            # Nothing tells that a server has begun to listen.
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def _ask(self, verb: int, name: str, value: bytes, seconds: float = 0.0) -> tuple[int, bytes]:
        with self._lock:
            try:
                self._connection.settimeout(self._timeout + seconds)
                self._connection.sendall(_frame(verb, name.encode(), value))
                answer, _, found = _read_frame(self._connection)
                return answer, found
            except TimeoutError as error:
                raise TimeoutError(f"no answer from the store at {_text(self._address)} in {self._timeout:g} s") from error

    def set(self, name: str, value: bytes) -> None:
        """Stores a value for all ranks."""
        self._ask(_SET, name, value)

    def get(self, name: str, seconds: float) -> bytes | None:
        """Waits for a value, at most so long; 0 only looks. Returns None if it is not there."""
        answer, value = self._ask(_GET, name, _SECONDS.pack(seconds), seconds)
        return value if answer == _GET else None

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()
