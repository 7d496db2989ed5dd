#!/usr/bin/env python3
"""Encoders, updates, clients and servers that are killed at a random moment, and what is left of them.

    lab/campaigns/kill.py COUNT [SUBJECT...]    COUNT kills of each subject; SOTTO names the program

A killed encoder or update leaves the epoch before or the whole next one. A killed client gives the right row when it is started
again, and sends a query again only before it sends another one: a logged request with the same bytes. A hint that serves two queries
would tell a server what they have in common. Clients of a killed server get the right row from the next one. What was tried is added to record.csv; the exit code is 1 if anything was wrong.
"""

import hashlib
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import record

SOTTO = os.environ.get("SOTTO", str(record.ROOT / "target/debug/sotto"))
ROWS, ROW_BYTES = 1000, 32


class Wrong(Exception):
    """What must not be, in words."""


def row(epoch: int, number: int) -> bytes:
    return hashlib.sha256(f"{epoch} {number}".encode()).digest()[:ROW_BYTES]


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([SOTTO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*arguments: str) -> dict:
    done = subprocess.run([SOTTO, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"sotto {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


class Clock:
    """The time after which to kill: anywhere in what a run takes, and a little beyond."""

    def __init__(self) -> None:
        self.longest = 0.05

    def kill(self, child: "subprocess.Popen[str]") -> bool:
        """Kills a process at a random time; returns whether it was alive."""
        began = time.monotonic()
        try:
            child.wait(random.uniform(0, 1.1 * self.longest))
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            # A longer run shows only where it was not killed.
            self.longest *= 1.002
            return True
        child.communicate()
        self.longest += 0.2 * (time.monotonic() - began - self.longest)
        return False


class Server:
    """`sotto serve` of some folders."""

    def __init__(self, *arguments: str, listen: str = "127.0.0.1:0") -> None:
        self.child = start("serve", *arguments, "--listen", listen, "--admin-listen", "127.0.0.1:0", "--json", "--log", "error")
        line = self.child.stdout.readline() if self.child.stdout else ""
        if not line:
            raise Wrong(f"the server did not start: {self.child.communicate()[1].strip()}")
        self.url = json.loads(line)["public"]

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate()


class Encoder:
    """The next epoch of a table, encoded."""

    scheme = "simplepir"

    def __init__(self, folder: Path) -> None:
        self.folder, self.table, self.clock, self.epoch = folder, folder / "table", Clock(), 1
        self.write(1)
        run(*self.command())

    def write(self, epoch: int) -> None:
        (self.folder / "rows.bin").write_bytes(b"".join(row(epoch, number) for number in range(ROWS)))

    def command(self) -> list[str]:
        source, scheme = str(self.folder / "rows.bin"), ["--row-bytes", str(ROW_BYTES), "--scheme", self.scheme]
        return ["encode", source, *scheme, "--out", str(self.table)]

    def once(self) -> bool:
        self.write(self.epoch + 1)
        was_alive = self.clock.kill(start(*self.command()))
        self.check()
        return was_alive

    def check(self) -> None:
        """The newest epoch is one of the two, and each of its bytes is that of its digest."""
        found = run("inspect", str(self.table), "--verify")["catalog"]["epoch"]
        if found not in (self.epoch, self.epoch + 1):
            raise Wrong(f"epoch {self.epoch} became {found}")
        self.epoch = found
        for file in self.table.glob("epoch-*"):
            if int(file.name[6:14]) < found - 1:
                file.unlink()

    def last(self) -> None:
        """What was there after all kills serves the right rows."""
        self.write(self.epoch + 1)
        run(*self.command())
        served = Server(str(self.table))
        got = run("get", "--server", served.url, "--table", "table", "--row", "7", "--no-cache")
        served.kill()
        if got["answers"][0]["hex"] != row(self.epoch + 1, 7).hex():
            raise Wrong("the table has another row than was encoded")


class Update(Encoder):
    """The next epoch of a table, by an update of some rows."""

    def once(self) -> bool:
        lines = [{"row": number, "hex": row(self.epoch + 1, number).hex()} for number in range(0, ROWS, 97)]
        changes = self.folder / "changes.jsonl"
        changes.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        was_alive = self.clock.kill(start("update", str(self.table), str(changes)))
        self.check()
        return was_alive


class Relay(http.server.BaseHTTPRequestHandler):
    """Passes requests on, and counts queries that come again after another one."""

    server: "RelayServer"

    def do_GET(self) -> None:
        self.relay(None)

    def do_POST(self) -> None:
        length = int(self.headers["content-length"] or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            # The client was killed while it wrote.
            self.close_connection = True
            return
        if self.path.endswith("/ask"):
            self.server.count(body)
        self.relay(body)

    def relay(self, body: bytes | None) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        request = urllib.request.Request(self.server.upstream + self.path, body, headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.headers, error.read())

    def answer(self, status: int, headers: object, body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():  # type: ignore[attr-defined]
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The client was killed.
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class RelayServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), Relay)
        self.upstream, self.lock = upstream, threading.Lock()
        self.seen, self.latest, self.repeated = set[bytes](), b"", 0
        self.open = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request: object, client_address: object) -> None:
        with self.lock:
            self.open += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def shutdown_request(self, request: object) -> None:
        super().shutdown_request(request)  # type: ignore[arg-type]
        with self.lock:
            self.open -= 1

    def drain(self) -> None:
        """Waits until what a killed client has sent was passed on: connections are taken in their order."""
        urllib.request.urlopen(f"http://127.0.0.1:{self.server_address[1]}/v1/tables").read()
        for _ in range(3000):
            with self.lock:
                if self.open == 0:
                    return
            time.sleep(0.01)
        raise Wrong("a connection of a killed client stays open")

    def count(self, body: bytes) -> None:
        with self.lock:
            digest = hashlib.sha256(body).digest()
            self.repeated += digest in self.seen and digest != self.latest
            self.seen.add(digest)
            self.latest = digest

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class Client(Encoder):
    """A client whose queries spend hints."""

    scheme = "s3pir"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.served = Server(str(self.table))
        self.relay = RelayServer(self.served.url)
        self.url = f"http://127.0.0.1:{self.relay.server_address[1]}"

    def get(self, number: int) -> list[str]:
        kept = ["--state", str(self.folder / "state"), "--rollback-dir", str(self.folder / "rollback"), "--cache", str(self.folder / "cache")]
        return ["get", "--server", self.url, "--table", "table", "--row", str(number), *kept]

    def once(self) -> bool:
        number = random.randrange(ROWS)
        was_alive = self.clock.kill(start(*self.get(number)))
        self.relay.drain()
        got = run(*self.get(number))
        if got["answers"][0]["hex"] != row(1, number).hex():
            raise Wrong(f"row {number} is another one")
        if self.relay.repeated:
            self.relay.repeated = 0
            raise Wrong("a query came again after another one")
        return was_alive

    def last(self) -> None:
        self.served.kill()
        if len(self.relay.seen) < 2:
            raise Wrong("no query passed the relay")


class Served(Encoder):
    """A server that holds keys of its clients."""

    scheme = "fspiral"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.served = self.start("127.0.0.1:0")

    def start(self, listen: str) -> Server:
        return Server(str(self.table), "--state", str(self.folder / "server"), listen=listen)

    def once(self) -> bool:
        number, listen = random.randrange(ROWS), self.served.url.removeprefix("http://")
        kept = ["--cache", str(self.folder / "cache")]
        get = ["get", "--server", self.served.url, "--table", "table", "--row", str(number), *kept]
        client = start(*get)
        # Not by `Clock.kill`: the server lives on, and only the time is that of a client.
        try:
            client.wait(random.uniform(0, 1.1 * self.clock.longest))
        except subprocess.TimeoutExpired:
            self.clock.longest *= 1.002
        self.served.kill()
        client.communicate()
        self.served = self.start(listen)
        if run(*get)["answers"][0]["hex"] != row(1, number).hex():
            raise Wrong(f"row {number} is another one")
        return True

    def last(self) -> None:
        self.served.kill()


SUBJECTS = {"encode": Encoder, "update": Update, "client": Client, "server": Served}


def main(arguments: list[str]) -> int:
    if not arguments or not arguments[0].isdigit():
        sys.exit(__doc__)
    count, wrong = int(arguments[0]), 0
    for name in arguments[1:] or SUBJECTS:
        began, kills, failures = time.monotonic(), 0, 0
        with tempfile.TemporaryDirectory(prefix="sotto-kill-") as folder:
            subject = SUBJECTS[name](Path(folder))
            while kills < count:
                try:
                    kills += subject.once()
                except Wrong as error:
                    kills, failures = kills + 1, failures + 1
                    print(f"{name}, kill {kills}: {error}", file=sys.stderr)
                    if failures > 10:
                        break
            subject.last()
        record.add("kill", name, kills, time.monotonic() - began, failures)
        print(f"{name:8} {kills:7,} kills in {time.monotonic() - began:.0f} s, {failures} wrong", flush=True)
        wrong += failures
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
