"""What Ray should be told where it is started, on each machine: it reads it from its environment."""

from __future__ import annotations

import sys

_EVERYWHERE = {
    # Whoever reaches a port of Ray's runs code: only those who have the token (`ray get-auth-token --generate`).
    "RAY_AUTH_MODE": "token",
    # The ingress waits for parts and does little else: threads between Ray's loop and its own take longer than they save.
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
    # Queries of large tables have more than the 100 KiB from which on Ray keeps arguments in a store of objects.
    "RAY_max_direct_call_object_size": str(4 << 20),
}

# Requests come to the ingress by HAProxy, and not by a process of Python's. Ray brings it along, on Linux.
_LINUX = {"RAY_SERVE_ENABLE_HA_PROXY": "1"}

ENVIRONMENT = _EVERYWHERE | (_LINUX if sys.platform == "linux" else {})
"""Names and values."""
