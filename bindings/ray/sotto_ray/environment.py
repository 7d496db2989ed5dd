"""Environment variables with which Ray is started on each machine."""

from __future__ import annotations

import os
import shutil
import sys

from .settings import SettingsError

HAPROXY = "sotto-ray-haproxy"
"""The program that Ray runs in HAProxy's place."""

_EVERYWHERE = {
    # Anyone who reaches a port of Ray's can run code, but only with the token (`ray get-auth-token --generate`).
    "RAY_AUTH_MODE": "token",
    # The ingress waits for parts and does little else: threads between Ray's loop and its own take longer than they save, and an
    # answer that its client does not read would lie between them.
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
    # A proxy that starts on a busy machine takes longer than the five seconds after which Ray gives it up and starts another.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    # Queries of large tables have more than the 100 KiB from which on Ray keeps arguments in a store of objects.
    "RAY_max_direct_call_object_size": str(4 << 20),
}


def environment() -> dict[str, str]:
    """Names and values.

    Raises `SettingsError` if the program is not there that bounds what comes in.
    """
    if sys.platform != "linux":
        return dict(_EVERYWHERE)
    # Requests come to the ingress by HAProxy, and not by a process of Python's. Ray brings it along, on Linux.
    program = shutil.which(HAPROXY)
    if program is None:
        raise SettingsError(f"{HAPROXY}, which limits clients, is not on the path: install it with sotto-ray (pip)")
    return {**_EVERYWHERE, "RAY_SERVE_ENABLE_HA_PROXY": "1", "RAY_SERVE_HAPROXY_BINARY_PATH": program}


def names_peers() -> bool:
    """Whether requests come through the proxy that passes the client's address, and replaces what clients send."""
    by_haproxy = os.environ.get("RAY_SERVE_ENABLE_HA_PROXY") == "1"
    return by_haproxy and os.path.basename(os.environ.get("RAY_SERVE_HAPROXY_BINARY_PATH", "")) == HAPROXY
