"""What can go wrong, by whose fault it was."""

from __future__ import annotations

import builtins


class Error(Exception):
    """Something went wrong. `code` is a stable name for programs, `fix` says what to do."""

    code: str
    fix: str

    def __init__(self, message: str, code: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.fix}" if self.fix else self.message


class ParamsError(Error):
    """The table cannot be served with its parameters: they are not secure, or fail too often, or fit no table of this size."""


class MisuseError(Error, ValueError):
    """The call was wrong: its message says what to correct."""


class RowError(MisuseError, IndexError):
    """The table has no row of this number."""


class PeerError(Error):
    """The server sent what the publisher did not sign, or no valid answer. Its operator or the publisher can fix it."""


class NetworkError(Error, ConnectionError):
    """The server cannot be reached, or is busy, or is changing its table. Trying again later may help."""


class TimeoutError(NetworkError, builtins.TimeoutError):
    """No complete response came within the time limit."""


class StorageError(Error, OSError):
    """This machine's disk failed, or files on it are damaged."""


class UnreadableError(Error):
    """The answer could not be read. Do not repeat the lookup at once, and do not report it: a server that damages answers learns
    from how clients react to them."""
