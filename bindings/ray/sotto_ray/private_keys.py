"""Private keys and the folders that every machine of a cluster reads: no key may lie in one.

Anyone who runs code on any machine of a cluster can read the disk that all of them share. A signing key there publishes in its owner's name,
so a key is made and read by the publisher's process alone, on the publisher's machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from .settings import SettingsError

NETWORK_FILESYSTEMS = {
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs", "fuse.mountpoint-s3",
    "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "virtiofs",
}  # fmt: skip
"""Types of file systems that several machines mount."""

MOUNTS = Path("/proc/self/mounts")


def find(folder: Path) -> list[Path]:
    """The private keys in a folder and below, by their names and by what they hold."""
    found = []
    for root, _, names in os.walk(folder):
        found += [Path(root, name) for name in names if _is_key(Path(root, name))]
    return sorted(found)


def _is_key(file: Path) -> bool:
    if file.name.endswith((".key", ".key.next")):
        return True
    try:
        with open(file, "rb") as text:
            head = text.read(64)
    except OSError:
        # One that this process cannot read is judged by its name alone.
        return False
    ours = head.startswith(b"# sotto ") and b" key" in head
    return ours or head.startswith(b"-----BEGIN") and b"PRIVATE KEY" in head


def refuse(*folders: Path) -> None:
    """Refuses folders that hold a private key.

    Raises `SettingsError`, which names the key and says what to do.
    """
    for folder in folders:
        for key in find(folder):
            raise SettingsError(
                f"{key} is a private key in a folder that every machine of the cluster reads: move it to where only the publisher "
                "can read it; if others could read it, replace it with `sotto rotate-key`"
            )


def check_signing_key(key: Path, table: Path) -> Path:
    """Where the signing key is, or will be, if that is outside of what machines share.

    Raises `SettingsError` if it is in the table's folder, however it is spelled, or on the network file system that the table is on.
    """
    place, folder = Path(key).resolve(), Path(table).resolve()
    if place.is_relative_to(folder):
        raise SettingsError(f"{key} is in {table}, which every machine of the cluster reads: give --signing-key a path elsewhere")
    mount, kind = _mount(place)
    if kind in NETWORK_FILESYSTEMS and _mount(folder)[0] == mount:
        raise SettingsError(f"{key} is on {mount}, which other machines mount too: give --signing-key a path on this machine")
    return place


def _mount(path: Path) -> tuple[Path, str]:
    """Where the file system of a path is mounted, and its type."""
    found = (Path("/"), "")
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return found
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        # Blanks in paths are written in octal.
        mount = Path(fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if path.is_relative_to(mount) and len(mount.parts) >= len(found[0].parts):
            found = (mount, fields[2])
    return found
