"""What clients see while actors die and epochs change: four parts, two actors each.

python kill.py LOOKUPS CLIENTS    prints what was wrong, what was lost, and times beside those of a quiet cluster
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import ray
import sotto

from sotto_ray import Cluster, down, up
from sotto_ray.controller import NAMESPACE

PARTS = 4
ROWS = 20_000
KILL_EVERY_S = 5.0


def row(number: int, epoch: int) -> bytes:
    return f"row {number} of epoch {epoch}".encode().ljust(32)


class Clients:
    """They ask without a pause, until so many lookups are done. Each reads the rows of its own numbers."""

    def __init__(self, url: str, pin: str, clients: int, lookups: int) -> None:
        self.times: list[float] = []
        self.wrong: list[str] = []
        self.lost: list[str] = []
        self._left = lookups
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(url, pin, seed)) for seed in range(clients)]
        for thread in self._threads:
            thread.start()

    def _more(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def _ask(self, url: str, pin: str, seed: int) -> None:
        table = sotto.connect(url, "people", pin)
        number = seed
        while self._more():
            number = (number * 7919 + 13) % ROWS
            began = time.monotonic()
            try:
                value = table.get(number)
            except sotto.Error as error:
                # Typed, and said to be worth sending again or not: it counts as lost all the same.
                self.lost.append(f"{type(error).__name__}: {error}")
                continue
            self.times.append(time.monotonic() - began)
            if value not in (row(number, 1), row(number, 2), row(number, 3)):
                self.wrong.append(f"{number}: {value!r}")

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def ms(self, share: float) -> float:
        times = sorted(self.times)
        return times[min(len(times) - 1, int(len(times) * share))] * 1e3


def main() -> None:
    lookups, clients = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def write(epoch: int) -> sotto.Encoded:
            rows = [row(number, epoch) for number in range(ROWS)]
            return sotto.encode(rows, folder / "people", parts=PARTS, again=epoch > 1, signing_key=folder / "signing.key")

        made = write(1)
        ray.init(num_cpus=PARTS * 2, namespace=NAMESPACE, log_to_driver=False, include_dashboard=False)
        text = {"table": "people", "state": "state", "replicas": 2, "port": 18_241, "reload_every_s": 0}
        cluster = Cluster.of(text, folder)
        url = up(cluster).url
        controller = ray.get_actor("people/controller", namespace=NAMESPACE)
        quiet = Clients(url, made.pin, clients, lookups // 10)
        while quiet.running():
            time.sleep(0.1)

        asking = Clients(url, made.pin, clients, lookups)
        began, killed, epoch, waits = time.monotonic(), 0, 1, False
        while asking.running():
            time.sleep(0.1)
            if time.monotonic() - began > KILL_EVERY_S * (killed + 1):
                name = f"people/part-{killed % PARTS}/{killed // PARTS % 2}"
                ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=False)
                killed += 1
            # A third and two thirds through.
            if not waits and epoch < 3 and len(asking.times) > lookups * epoch // 3:
                epoch += 1
                write(epoch)
                waits = True
            if waits:
                waits = not ray.get(controller.reload.remote())
        print(f"{len(asking.times)} lookups by {clients} clients, {killed} actors killed, {epoch - 1} epoch changes:")
        print(f"wrong {len(asking.wrong)}, lost {len(asking.lost)} {asking.lost[:2]}")
        calm = statistics.median(quiet.times) * 1e3
        print(f"quiet: median {calm:.1f} ms, 99 in 100 below {quiet.ms(0.99):.1f} ms")
        print(f"then: median {asking.ms(0.5):.1f} ms, 99 in 100 below {asking.ms(0.99):.1f} ms: {asking.ms(0.99) / calm:.1f} times")
        down(cluster)
        ray.shutdown()


if __name__ == "__main__":
    main()
