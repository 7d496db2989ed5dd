"""All of it started, and how it stands."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import ray
from ray import serve
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from . import controller, files, ingress, keys, part, private_keys
from .controller import NAMESPACE
from .environment import environment
from .settings import Cluster, SettingsError

KEYS_MIB = 256
"""Memory for keys that one process has for all to fetch: the others are read from the disk."""

PLACING_S = 120.0
"""How long to wait for machines that have room."""


@dataclass(frozen=True)
class RunningCluster:
    """A cluster that runs."""

    url: str
    table: str
    parts: int
    replicas: int


def connect() -> None:
    """Joins the Ray that runs, or starts one of this machine."""
    if not ray.is_initialized():
        # For a Ray that is started by this; one that runs has what it was started with.
        for name, value in environment().items():
            os.environ.setdefault(name, value)
        ray.init(namespace=NAMESPACE, log_to_driver=False)


def _name(cluster: Cluster) -> str:
    return cluster.table.name


def up(cluster: Cluster) -> RunningCluster:
    """Starts what is not there yet, and comes back when the newest epoch is live."""
    private_keys.refuse(cluster.table, cluster.state)
    connect()
    application = prepare(cluster)
    serve.start(http_options={"host": cluster.host, "port": cluster.port})
    serve.run(application, name=_name(cluster), route_prefix="/")
    count = len(files.whole(cluster.table)[-1].parts)
    return RunningCluster(f"http://{cluster.host}:{cluster.port}", _name(cluster), count, cluster.replicas)


def prepare(cluster: Cluster) -> Any:
    """Starts the actors that are not there yet, makes the newest epoch live, and gives the ingress as an application of Ray Serve."""
    private_keys.refuse(cluster.table)
    epochs = files.whole(cluster.table)
    if not epochs:
        raise SettingsError(f"{cluster.table} has no epoch in parts: encode one with `sotto encode --parts N` or `sotto-ray encode`")
    name, count = _name(cluster), len(epochs[-1].parts)
    parts = [[f"{name}/part-{number}/{replica}" for replica in range(cluster.replicas)] for number in range(count)]
    lasting = {"lifetime": "detached", "namespace": NAMESPACE, "get_if_exists": True}

    # These two write: where the state is mounted, if that is not everywhere.
    writes = {**lasting, "resources": {cluster.state_resource: 0.001} if cluster.state_resource else {}}

    limits = {
        "max_bytes": min(cluster.session_mib, KEYS_MIB) << 20,
        "max_stored_bytes": cluster.stored_mib << 20,
        "per_network": cluster.sessions_per_network,
        "per_minute": cluster.registrations_per_minute,
        "ttl_seconds": cluster.session_ttl_s,
    }
    keys_actor = keys.actor().options(name=f"{name}/keys", **writes)
    keys_actor = keys_actor.remote(str(cluster.state / "keys"), limits)
    head = controller.actor().options(name=f"{name}/controller", **writes)
    head = head.remote(str(cluster.table), str(cluster.state), parts, cluster.reload_every_s)
    replica = part.actor(cluster.threads_per_part)
    for at in range(cluster.replicas):
        # A replica of all parts, over as many machines as there are.
        group = _group(f"{name}/{at}", count, cluster.threads_per_part)
        for number in range(count):
            place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number)
            options = replica.options(name=parts[number][at], scheduling_strategy=place, **lasting)
            options.remote(number, cluster.threads_per_part, cluster.session_mib << 20, keys_actor, head)
    ray.get(head.reload.remote())
    live, wrong = ray.get(head.live.remote())
    if not live:
        raise SettingsError(wrong or "no epoch is live")

    return ingress.deployment(cluster).bind(cluster, parts, f"{name}/keys", f"{name}/controller")


def _group(name: str, bundles: int, cpus: int) -> Any:
    try:
        return ray.util.get_placement_group(name)
    except ValueError:
        pass
    group = placement_group([{"CPU": cpus}] * bundles, strategy="SPREAD", name=name, lifetime="detached")
    if not group.wait(PLACING_S):
        raise SettingsError(f"the cluster has no room for {bundles} parts of {cpus} cores: add machines, or use fewer cores")
    return group


def status(cluster: Cluster) -> dict[str, Any]:
    """Live epochs, replicas and errors of a cluster."""
    connect()
    name = _name(cluster)
    try:
        head = ray.get_actor(f"{name}/controller", namespace=NAMESPACE)
        keys_actor = ray.get_actor(f"{name}/keys", namespace=NAMESPACE)
    except ValueError:
        return {"table": name, "up": False}
    live, wrong = ray.get(head.live.remote())
    found = []
    actors = ray.util.list_named_actors(all_namespaces=True)
    for each in sorted(actor["name"] for actor in actors if actor["namespace"] == NAMESPACE):
        if not each.startswith(f"{name}/part-"):
            continue
        replica = ray.get_actor(each, namespace=NAMESPACE)
        try:
            held = ray.get(replica.held.remote(), timeout=5)
            seconds, queries = ray.get(replica.work.remote(), timeout=5)
            found.append({"replica": each, "holds": held, "core_seconds": seconds, "queries": queries})
        except Exception as error:
            found.append({"replica": each, "wrong": type(error).__name__})
    return {
        "table": name,
        "up": True,
        "live": [{"catalog": digest, "front": front} for digest, front in live],
        "wrong": wrong,
        "replicas": found,
        "keys": ray.get(keys_actor.usage.remote()),
    }


def down(cluster: Cluster) -> None:
    """Ends all of it. What is in files stays."""
    connect()
    name = _name(cluster)
    serve.delete(name)
    for actor in ray.util.list_named_actors(all_namespaces=True):
        if actor["namespace"] == NAMESPACE and actor["name"].startswith(f"{name}/"):
            ray.kill(ray.get_actor(actor["name"], namespace=NAMESPACE), no_restart=True)
    for replica in range(cluster.replicas):
        try:
            ray.util.remove_placement_group(ray.util.get_placement_group(f"{name}/{replica}"))
        except ValueError:
            continue
