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

pytestmark = pytest.mark.small


def groups(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = manifest["spec"]["rayClusterConfig"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_the_manifest_is_one_of_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(MANIFEST, SCHEMA)
    for group in groups(MANIFEST):
        pod = group["template"]["spec"]
        mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
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
    ],
)
def test_a_mistake_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    wrong = copy.deepcopy(MANIFEST)
    change(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_ray_and_the_application_read_what_is_in_it() -> None:
    import ray
    from ray.serve.schema import ServeDeploySchema

    from sotto_ray import Cluster
    from sotto_ray.environment import ENVIRONMENT

    served = ServeDeploySchema.model_validate(yaml.safe_load(MANIFEST["spec"]["serveConfigV2"]))
    (application,) = served.applications
    cluster = Cluster.of(application.args, Path("/"))
    assert application.import_path == "sotto_ray.application:build"
    assert cluster.table.is_absolute() and cluster.state.is_absolute()
    ports = [port["containerPort"] for port in groups(MANIFEST)[0]["template"]["spec"]["containers"][0]["ports"]]
    assert served.http_options.port in ports
    for group in groups(MANIFEST):
        (container,) = group["template"]["spec"]["containers"]
        assert {each["name"]: each["value"] for each in container["env"]} == {**ENVIRONMENT, "RAY_SERVE_ENABLE_HA_PROXY": "1"}
    # The image is of the Ray that the manifest names, and that is what is tested.
    assert MANIFEST["spec"]["rayClusterConfig"]["rayVersion"] == ray.__version__
    assert f"rayproject/ray:{ray.__version__}-" in (DEPLOY / "container/Containerfile.ray").read_text()
