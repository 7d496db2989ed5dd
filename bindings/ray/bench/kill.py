"""What clients see while actors die and epochs change: a table in parts, two actors for each.

python kill.py LOOKUPS CLIENTS                   four parts, a death every five seconds, two epochs; times beside those of a quiet cluster
python kill.py LOOKUPS CLIENTS --seconds 7200 --parts 2 --kill-every 20 --epoch-every 60 --pause 0.2
                                                 a soak: until the time or the lookups are over, with memory and open files of all actors

Each answer is compared with its row in an epoch that is served. Exit code 1 if one was wrong or lost, or if actors' memory grew.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import ray
import sotto

from sotto_ray import Cluster, down, up
from sotto_ray.controller import NAMESPACE

ROWS = 20_000
# What memory may grow by between a sixth of the time and its end, as in `sotto bench soak`.
GROWTH = 0.02
# Agents of each machine, and processes that wait for work.
OF_RAY = {"DashboardAgent", "RuntimeEnvAgent", "IDLE"}


def row(number: int, epoch: int) -> bytes:
    return f"row {number} of epoch {epoch}".encode().ljust(32)


class Clients:
    """Threads that ask until so many lookups are done, or until they are stopped. Each reads the rows of its own numbers."""

    def __init__(self, url: str, pin: str, clients: int, lookups: int, pause_s: float) -> None:
        self.times: list[float] = []
        self.wrong: list[str] = []
        self.lost: list[str] = []
        # The oldest epoch that may be served, and the newest.
        self.oldest, self.newest = 1, 1
        self._left = lookups
        self._pause_s = pause_s
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(url, pin, seed)) for seed in range(clients)]
        for thread in self._threads:
            thread.start()

    def _more(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0 and not self._stopped.is_set()

    def _ask(self, url: str, pin: str, seed: int) -> None:
        table = sotto.connect(url, "people", pin)
        number = seed
        while self._more():
            number = (number * 7919 + 13) % ROWS
            oldest, began = self.oldest, time.monotonic()
            try:
                value = table.get(number)
            except sotto.Error as error:
                # Typed, and said to be worth sending again or not: it counts as lost all the same.
                self.lost.append(f"{type(error).__name__}: {error}")
                continue
            self.times.append(time.monotonic() - began)
            if value not in [row(number, epoch) for epoch in range(oldest, self.newest + 1)]:
                self.wrong.append(f"{number}: {value!r}")
            self._stopped.wait(self._pause_s)

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopped.set()

    def ms(self, share: float) -> float:
        times = sorted(self.times)
        return times[min(len(times) - 1, int(len(times) * share))] * 1e3


class Processes:
    """Memory and open files of all processes of actors, over time."""

    def __init__(self) -> None:
        # Seconds, MiB by the class of the actor, open files of all.
        self._samples: list[tuple[float, dict[str, float], int]] = []

    def watch(self, at: float) -> None:
        memory: dict[str, float] = defaultdict(float)
        files = 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                # `ray::Part.answer`, `ray::Part`, `ray::ServeReplica:app:Ingress.handle`.
                title = (process / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
                if not title.startswith("ray::"):
                    continue
                # Pages that an actor shares with none: all have Python's and Ray's.
                lines = (process / "smaps_rollup").read_text().splitlines()
                actor = title.removeprefix("ray::").split(".")[0]
                memory[actor] += sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
                files += len(list((process / "fd").iterdir()))
            except OSError:
                continue  # It has just ended.
        self._samples.append((at, memory, files))

    def growth(self) -> float | None:
        """Growth of the table's actors after the first sixth, from the medians of thirds; `None` for less than ten samples."""
        warm = [sample for sample in self._samples if sample[0] >= self._samples[-1][0] / 6]
        if len(warm) < 10:
            return None
        print(f"open files {warm[0][2]} to {warm[-1][2]}; private memory, MiB, medians of thirds:")
        actors = sorted({actor for _, memory, _ in warm for actor in memory})
        for actor in actors:
            self._thirds(actor, [memory.get(actor, 0.0) for _, memory, _ in warm])
        own = [sum(mib for actor, mib in memory.items() if actor not in OF_RAY) for _, memory, _ in warm]
        first, _, last = self._thirds("all but Ray's own", own)
        # The middles of the first and of the last third are two thirds of the time apart.
        return (last / first - 1) * 1.5

    @staticmethod
    def _thirds(actor: str, memory: list[float]) -> list[float]:
        third = len(memory) // 3
        medians = [statistics.median(memory[at * third : (at + 1) * third]) for at in range(3)]
        print(f"  {actor}: {', '.join(f'{median:.1f}' for median in medians)}")
        return medians


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lookups", type=int)
    parser.add_argument("clients", type=int)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--scheme", help="simplepir, or what fits parts and has no keys")
    parser.add_argument("--seconds", type=float, help="the time after which it ends")
    parser.add_argument("--kill-every", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--epoch-every", type=float, metavar="SECONDS", help="two epochs, a third and two thirds through, without it")
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="between a client's lookups")
    parser.add_argument("--port", type=int, default=18_241)
    return parser.parse_args()


def main() -> int:
    asked = options()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def write(epoch: int) -> sotto.Encoded:
            rows = [row(number, epoch) for number in range(ROWS)]
            chosen = {"scheme": asked.scheme} if asked.scheme else {}
            return sotto.encode(rows, folder / "people", parts=asked.parts, again=epoch > 1, signing_key=folder / "signing.key", **chosen)

        made = write(1)
        ray.init(num_cpus=asked.parts * 2, namespace=NAMESPACE, log_to_driver=False, include_dashboard=False)
        text = {"table": "people", "state": "state", "replicas": 2, "port": asked.port, "reload_every_s": 0}
        cluster = Cluster.of(text, folder)
        url = up(cluster).url
        controller = ray.get_actor("people/controller", namespace=NAMESPACE)
        quiet = Clients(url, made.pin, asked.clients, min(asked.lookups // 10, 1000), 0)
        while quiet.running():
            time.sleep(0.1)

        asking, processes = Clients(url, made.pin, asked.clients, asked.lookups, asked.pause), Processes()
        began, killed, epoch, waits, watched = time.monotonic(), 0, 1, False, 0.0
        while asking.running():
            time.sleep(0.1)
            passed = time.monotonic() - began
            if asked.seconds is not None and passed > asked.seconds:
                asking.stop()
            if passed > asked.kill_every * (killed + 1):
                name = f"people/part-{killed % asked.parts}/{killed // asked.parts % 2}"
                ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=False)
                killed += 1
            if asked.epoch_every is None:
                due = epoch < 3 and len(asking.times) > asked.lookups * epoch // 3
            else:
                due = passed > asked.epoch_every * epoch
            if not waits and due:
                epoch += 1
                asking.newest = epoch
                write(epoch)
                waits = True
            if waits and ray.get(controller.reload.remote()):
                # The epoch before is answered until the next one.
                asking.oldest, waits = epoch - 1, False
            if passed > watched:
                processes.watch(passed)
                watched = passed + 20
        print(f"{len(asking.times)} lookups by {asked.clients} clients in {passed:.0f} s, {killed} actors killed, {epoch - 1} epoch changes:")
        print(f"wrong {len(asking.wrong)} {asking.wrong[:2]}, lost {len(asking.lost)} {asking.lost[:2]}")
        calm = statistics.median(quiet.times) * 1e3
        print(f"quiet: median {calm:.1f} ms, 99 in 100 below {quiet.ms(0.99):.1f} ms")
        print(f"then: median {asking.ms(0.5):.1f} ms, 99 in 100 below {asking.ms(0.99):.1f} ms: {asking.ms(0.99) / calm:.1f} times")
        growth = processes.growth()
        down(cluster)
        ray.shutdown()
    return int(bool(asking.wrong or asking.lost) or (growth or 0.0) > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
