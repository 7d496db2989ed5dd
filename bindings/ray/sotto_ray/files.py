"""Fronts and parts in a folder, by epoch: `epoch-00000003.front`, `epoch-00000003.part-0000-of-0004`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_FRONT = re.compile(r"epoch-(\d{8,})\.front")
_PART = re.compile(r"epoch-(\d{8,})\.part-(\d{4,})-of-(\d{4,})")


@dataclass(frozen=True)
class Epoch:
    """One epoch, all of whose parts are there."""

    number: int
    front: Path
    parts: tuple[Path, ...]


def whole(folder: Path) -> list[Epoch]:
    """The epochs that are whole, the oldest first. One whose parts are still being made is not there yet."""
    fronts: dict[int, Path] = {}
    parts: dict[int, dict[int, Path]] = {}
    counts: dict[int, set[int]] = {}
    for name in sorted(os.listdir(folder)):
        if match := _FRONT.fullmatch(name):
            fronts[int(match[1])] = folder / name
        elif match := _PART.fullmatch(name):
            epoch, part, count = (int(number) for number in match.groups())
            parts.setdefault(epoch, {})[part] = folder / name
            counts.setdefault(epoch, set()).add(count)
    found = []
    for epoch, front in sorted(fronts.items()):
        (count, *others) = counts.get(epoch) or {0}
        there = parts.get(epoch, {})
        if not others and count > 0 and set(there) == set(range(count)):
            found.append(Epoch(epoch, front, tuple(there[part] for part in range(count))))
    return found


def private_folder(folder: Path) -> Path:
    """Makes a folder for this user alone, with those above it, and closes one to others that is there."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def _private(path: str, flags: int) -> int:
    # Whatever the umask is, and never a file that somebody else has put there.
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def write(file: Path, data: bytes) -> None:
    """Writes a file for this user alone, whole or not at all, and waits until it is on the disk."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)
    with open(draft, "wb", opener=_private) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    os.replace(draft, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
