"""KubeRay's manifest of `deploy/`: the fields that there are, and what Ray and the application read out of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
SCHEMA = json.loads((DEPLOY / "kuberay/rayservice.schema.json").read_text())
MANIFEST = yaml.safe_load((DEPLOY / "kuberay/rayservice.yaml").read_text())
POLICIES = list(yaml.safe_load_all((DEPLOY / "kuberay/networkpolicy.yaml").read_text()))

pytestmark = pytest.mark.small


def groups(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = manifest["spec"]["rayClusterConfig"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def ours(policy: dict[str, Any]) -> Any:
    return policy["spec"]["podSelector"]["matchLabels"]


def pods(policy: dict[str, Any], direction: str) -> list[tuple[Any, list[int]]]:
    """Whom a policy lets through: labels, and on which ports; no ports are all."""
    peers = "from" if direction == "ingress" else "to"
    rules = policy["spec"].get(direction, [])
    named = [(peer, [each["port"] for each in rule.get("ports", [])]) for rule in rules for peer in rule[peers]]
    return [(peer.get("podSelector", {}).get("matchLabels"), ports) for peer, ports in named]


def test_the_manifest_is_one_of_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(MANIFEST, SCHEMA)
    for group in groups(MANIFEST):
        pod = group["template"]["spec"]
        mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
        # Every one is without the privileges, and with the labels, that the policy goes by.
        assert group["template"]["metadata"]["labels"] == ours(POLICIES[0])
    worker = groups(MANIFEST)[1]
    assert worker["minReplicas"] <= worker["replicas"] <= worker["maxReplicas"]


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.update(apiVersion="ray.io/v1alpha1"),
        lambda it: it["spec"].pop("serveConfigV2"),
        lambda it: it["spec"].update(serveConfigV2={"applications": []}),
        lambda it: it["spec"].update(rayClusterSpec=it["spec"].pop("rayClusterConfig")),
        lambda it: groups(it)[0]["rayStartParams"].update({"num-cpus": 0}),
        lambda it: groups(it)[1].pop("groupName"),
        lambda it: groups(it)[1].update(minReplicas="2"),
        lambda it: groups(it)[1]["template"]["spec"]["containers"][0].update(volumeMount=[]),
        lambda it: groups(it)[1]["template"]["spec"]["containers"][0]["resources"].update(limits={"memory": "64 Gi"}),
        lambda it: groups(it)[0]["template"]["spec"]["containers"][0]["ports"][0].update(name="a-name-that-is-too-long"),
        # What keeps strangers out.
        lambda it: it["spec"]["rayClusterConfig"].pop("authOptions"),
        lambda it: it["spec"]["rayClusterConfig"]["authOptions"].update(mode="disabled"),
        lambda it: it["spec"]["rayClusterConfig"].pop("tlsOptions"),
        lambda it: it["spec"]["rayClusterConfig"]["autoscalerOptions"].pop("securityContext"),
        lambda it: groups(it)[0].update(serviceType="LoadBalancer"),
        lambda it: groups(it)[1]["template"]["spec"].pop("securityContext"),
        lambda it: groups(it)[1]["template"]["spec"]["securityContext"].update(runAsNonRoot=False),
        lambda it: groups(it)[1]["template"]["spec"]["containers"][0].pop("securityContext"),
        lambda it: groups(it)[0]["template"]["spec"]["containers"][0]["securityContext"].update(privileged=True),
        lambda it: groups(it)[0]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"].update(drop=[]),
    ],
)
def test_a_mistake_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    wrong = copy.deepcopy(MANIFEST)
    change(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_workers_write_nothing_that_others_read() -> None:
    served = yaml.safe_load(MANIFEST["spec"]["serveConfigV2"])
    (settings,) = (application["args"] for application in served["applications"])
    for group in groups(MANIFEST):
        pod = group["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        claims = {
            mount["mountPath"]: mount.get("readOnly", False) and volumes[mount["name"]]["persistentVolumeClaim"].get("readOnly", False)
            for container in pod["containers"]
            for mount in container["volumeMounts"]
            if "persistentVolumeClaim" in volumes[mount["name"]]
        }
        # A folder below the mount: one that the actors make is theirs alone, and a mount belongs to root.
        state = claims.pop(str(Path(settings["state"]).parent), None)
        # The head keeps the state, and its resource says so to whoever places the actors that write it.
        assert (state is None) == ("groupName" in group)
        assert (state is None) != (settings["state_resource"] in group["rayStartParams"].get("resources", ""))
        (tables,) = claims
        assert claims[tables] and Path(settings["table"]).is_relative_to(tables)
        assert not Path(settings["state"]).is_relative_to(tables)
        assert ("groupName" in group) == (pod.get("automountServiceAccountToken") is False)


def test_strangers_reach_no_port_of_rays() -> None:
    for policy in POLICIES:
        assert (policy["apiVersion"], policy["kind"]) == ("networking.k8s.io/v1", "NetworkPolicy")
    everywhere, autoscaler = POLICIES
    assert set(everywhere["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    served = yaml.safe_load(MANIFEST["spec"]["serveConfigV2"])["http_options"]["port"]
    let_in = {tuple(labels.items()): ports for labels, ports in pods(everywhere, "ingress")}
    # Each other; the operator, which starts Ray Serve by the dashboard; and what ends TLS. An empty selector is everybody.
    assert let_in.pop(tuple(ours(everywhere).items())) == []
    assert let_in.pop((("app.kubernetes.io/name", "kuberay-operator"),)) == [8265, served]
    assert let_in == {(("app.kubernetes.io/name", "sotto-gateway"),): [served]}
    assert [ports for _, ports in pods(everywhere, "egress")] == [[], [53, 53]]
    # The API server has no label, and only the head asks it.
    assert ours(autoscaler) == {**ours(everywhere), "ray.io/node-type": "head"} and autoscaler["spec"]["policyTypes"] == ["Egress"]
    assert all(ports == [443, 6443] for _, ports in pods(autoscaler, "egress"))


def test_ray_and_the_application_read_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.serve.schema import ServeDeploySchema

    from sotto_ray import Cluster
    from sotto_ray import environment
    from sotto_ray_haproxy import PROXIES, networks

    served = ServeDeploySchema.model_validate(yaml.safe_load(MANIFEST["spec"]["serveConfigV2"]))
    (application,) = served.applications
    cluster = Cluster.of(application.args, Path("/"))
    assert application.import_path == "sotto_ray.application:build"
    assert cluster.table.is_absolute() and cluster.state.is_absolute()
    ports = [port["containerPort"] for port in groups(MANIFEST)[0]["template"]["spec"]["containers"][0]["ports"]]
    assert served.http_options.port in ports
    program = "/home/ray/anaconda3/bin/sotto-ray-haproxy"
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda name: {"sotto-ray-haproxy": program}.get(name))
    expected = {**environment.environment(), "HOME": "/tmp"}
    # The token, and that one is asked for, are the operator's to say.
    assert expected.pop("RAY_AUTH_MODE") == MANIFEST["spec"]["rayClusterConfig"]["authOptions"]["mode"]
    for group in groups(MANIFEST):
        (container,) = group["template"]["spec"]["containers"]
        variables = {each["name"]: each["value"] for each in container["env"]}
        # Who asks is what the gateway says, in the network of pods.
        assert networks(variables.pop(PROXIES)) and variables == expected
    # The image is of the Ray that the manifest names, and that is what is tested.
    assert MANIFEST["spec"]["rayClusterConfig"]["rayVersion"] == ray.__version__
    assert f"rayproject/ray:{ray.__version__}-" in (DEPLOY / "container/Containerfile.ray").read_text()
