"""Private lookups over many machines: a table is cut into parts, and each part is an actor of Ray.

| module | what lives there |
|---|---|
| `settings` | a cluster in one YAML file, unknown keys refused |
| `files` | fronts and parts in a folder, by epoch |
| `part` | an actor that holds a part's image mapped, and answers with partials |
| `bounds` | what a client may take of an ingress: requests and bytes of a network and in all, time for bodies and answers |
| `keys` | an actor that keeps what clients registered, on disk |
| `controller` | an actor that says which epoch is live: prepared everywhere before it is |
| `query` | one query to every part: replicas, hedging, never an answer with a part missing |
| `ingress` | our HTTP wire, spoken by Ray Serve, behind `sotto_ray_haproxy` |
| `encode` | parts made side by side by Ray's tasks, signed by the publisher's process |
| `private_keys` | no private key in a folder that every machine reads |
| `up` | all of it started, and how it stands |
| `environment` | the environment in which Ray is started |
| `application` | the same for Ray Serve's configuration files |

Frames are read and answers are made by the Rust core, through the package `sotto`.
"""

from .encode import encode
from .settings import Cluster, SettingsError
from .up import RunningCluster, down, status, up

__all__ = ["Cluster", "RunningCluster", "SettingsError", "down", "encode", "status", "up"]
