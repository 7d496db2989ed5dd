"""A vector, and what every client does whatever the scheme: catalog, artifacts, frames; a stack of tables. From ../README.md,
../../catalog.md, ../../stack.md, ../../artifacts.md and ../../wire.md."""

import json
import struct
from pathlib import Path

from ml_dsa import ml_dsa_44_verifies
from primitives import blake3, blake3_derive, blake3_keyed, ed25519_verifies

PIN = 48


class Refused(Exception):
    """Something that is not as the pages say."""


def demand(holds: bool, what: str) -> None:
    if not holds:
        raise Refused(what)


class Vector:
    def __init__(self, path: Path):
        self.text = json.loads(path.read_text())
        demand(self.text["format"] == "sotto-vector/1", "the format is another")
        behind = path.with_suffix(".bin")
        self.behind = behind.read_bytes() if behind.exists() else b""
        demand(not self.behind or self.behind[:16] == b"\0sotto-vector/1\n", "the mark is missing")
        self.secrets = {name: self.body(body) for name, body in self.text.get("secrets", {}).items()}

    def body(self, body) -> bytes | None:
        """Bytes in the text or behind it; None for those that are left out."""
        if body is None or isinstance(body, str):
            return bytes.fromhex(body or "")
        if "at" not in body:
            return None
        at, pieces = body["at"], body.get("pieces")
        if pieces:
            starts = [at + number * pieces["size"] for number in bytes.fromhex(pieces["order"])]
            data = b"".join(self.behind[start : start + pieces["size"]] for start in starts)
        else:
            data = self.behind[at : at + body["bytes"]]
        demand(blake3(data).hex() == body["blake3"], "bytes behind the text are damaged")
        return data

    def exchanges(self, path: str):
        for exchange in self.text["exchanges"]:
            if exchange["path"] == path:
                demand(exchange["status"] in (200, 206), "a refusal")
                yield exchange

    def signed(self, kind: str, shown: bytes) -> bytes:
        """The text of a catalog or a stack, signed by the publisher: with both keys where the pin has two."""
        envelope, (form, _, pin) = json.loads(shown), self.text["key"].partition(":")
        demand(envelope["public_key"] == pin[:64], f"the {kind} is signed by somebody else")
        text = envelope[kind].encode()
        key, signature = bytes.fromhex(envelope["public_key"]), bytes.fromhex(envelope["signature"])
        message = f"sotto-{kind}/1\0".encode() + text
        demand(ed25519_verifies(key, message, signature), f"the signature of the {kind} does not hold")
        demand((form, len(pin)) == (("sotto-pq", 128) if "ml_dsa_44" in envelope else ("sotto-pk", 64)), "another pin")
        if form == "sotto-pq":
            key, signature = (bytes.fromhex(envelope["ml_dsa_44"][field]) for field in ("public_key", "signature"))
            demand(blake3(key).hex() == pin[64:], f"the {kind} is signed with another ML-DSA-44 key")
            demand(ml_dsa_44_verifies(key, message, signature), f"the ML-DSA-44 signature of the {kind} does not hold")
        return text

    def stack(self) -> tuple[dict, list["Table"]]:
        """A stack, and its tables, whose catalogs it names."""
        [exchange] = self.exchanges(f"/v1/stacks/{self.text['table']}")
        stack = json.loads(self.signed("stack", self.body(exchange["response"])))
        demand(stack["format"] == "sotto-stack/1" and stack["stack"] == self.text["table"], "another stack")
        tables = [Table(self, shard["table"]) for shard in stack["shards"]]
        for shard, table in zip(stack["shards"], tables):
            demand(table.digest == shard["catalog"], "a catalog that the stack does not name")
            demand(table.catalog["epoch"] == shard["epoch"], "an epoch that the stack does not name")
        return stack, tables


class Table:
    """A table of a vector, and what was exchanged about it."""

    def __init__(self, vector: Vector, name: str, layers: tuple[str, ...] = ()):
        self.vector, self.name, self.secrets = vector, name, vector.secrets
        self.text, self.body, self.exchanges = vector.text, vector.body, vector.exchanges
        shown = [self.body(exchange["response"]) for exchange in self.exchanges(f"/v1/tables/{name}")]
        demand(len(shown) == self.text["servers"] and len(set(shown)) == 1, "servers show different catalogs")
        text = vector.signed("catalog", shown[0])
        self.digest, self.catalog = blake3(text).hex(), json.loads(text)
        demand(self.catalog["format"] == "sotto-catalog/1" and self.catalog["table"] == name, "another table")
        demand(self.catalog["scheme"] == self.text["scheme"], "another scheme")
        demand(tuple(layer["name"] for layer in self.catalog["layers"]) == layers, "other layers")

    def layer(self) -> dict:
        """The parameters of the only layer."""
        return self.catalog["layers"][0]["params"]

    def params(self, *order: str) -> dict:
        """The parameters. Their digest is over the fields in the order of the scheme's page, without those that are left out."""
        params = {name: self.catalog["params"][name] for name in order if name in self.catalog["params"]}
        demand(params == self.catalog["params"], "parameters that the page does not have")
        scheme, text = self.catalog["scheme"].encode(), json.dumps(params, separators=(",", ":")).encode()
        digest = blake3_derive("sotto 2026 params digest v1", struct.pack("<Q", len(scheme)) + scheme + text)
        demand(digest.hex() == self.catalog["params_digest"], "the digest of the parameters is another")
        return params

    def artifact(self, name: str) -> bytes:
        """A static file, from the parts in which it came; checked chunk by chunk and as a whole."""
        [entry] = [entry for entry in self.catalog["artifacts"] if entry["artifact"] == name]
        data = bytearray()
        for exchange in self.exchanges(f"/v1/artifacts/{entry['digest']}"):
            part = self.body(exchange["response"])
            demand(exchange["range"] == f"bytes={len(data)}-{len(data) + len(part) - 1}", "a part out of order")
            data += part
        size = entry["chunk_bytes"]
        chunks = [blake3(bytes(data[at : at + size])).hex() for at in range(0, len(data), size)]
        demand(len(data) == entry["bytes"] and chunks == entry["chunks"], "an artifact is damaged")
        demand(blake3(bytes(data)).hex() == entry["digest"], "an artifact has another digest")
        return bytes(data)

    def frames(self, route: str, magics: tuple[bytes, bytes], head: int):
        """Payloads of requests and responses, server by server; those left out are None."""
        for exchange in self.exchanges(f"/v1/tables/{self.name}/{route}"):
            sent, came = self.body(exchange["request"]), self.body(exchange["response"])
            [count] = struct.unpack("<H", came[6:8])
            pin = struct.pack("<BBHQ", 1, exchange["server"], count, self.catalog["epoch"])
            pin += bytes.fromhex(self.catalog["params_digest"])
            demand(sent is None or sent[:PIN] == magics[0] + pin, "a request of another epoch or table")
            demand(came[:PIN] == magics[1] + pin, "a response to something else")
            yield sent and sent[head:], came[PIN:]

    def asks(self):
        return list(self.frames("ask", (b"sotq", b"sota"), PIN + 16))

    def evaluations(self):
        return list(self.frames("evaluate", (b"sote", b"sotv"), PIN))

    def place(self, record_bytes: int, row: int | None = None) -> tuple[int, int]:
        """The record that a row lies in, and its first byte there. Rows that span records are not in these vectors."""
        row = self.text["row"] if row is None else row
        root, width = self.catalog["rows_root"], self.catalog["row_bytes"]
        demand(width <= record_bytes, "rows that span records")
        fit = root["leaf_rows"] if "path" in root else record_bytes // width
        return row // fit, row % fit * width

    def row(self, record: bytes, row: int | None = None) -> bytes:
        """A row in its record; with a path, compared with the root that was signed."""
        index, at = self.place(len(record), row)
        root, width = self.catalog["rows_root"], self.catalog["row_bytes"]
        if "path" in root:
            nodes = len(record) - 32 * root["path"]
            node = blake3_keyed(b"sotto 2026 rows root v1, leaf...", record[: root["leaf_rows"] * width])
            for level in range(root["path"]):
                beside = record[nodes + 32 * level : nodes + 32 * level + 32]
                pair = beside + node if index >> level & 1 else node + beside
                node = blake3_keyed(b"sotto 2026 rows root v1, node...", pair)
            leaves = -(-self.catalog["rows"] // root["leaf_rows"])
            if leaves > 1 << root["path"]:
                tree = self.artifact("tree")
                demand(tree[32 * (index >> root["path"]) :][:32] == node, "the row is not the publisher's")
                node = tree
            signed = blake3_keyed(b"sotto 2026 rows root v1, root...", node).hex()
            demand(signed == root["root"], "the rows are not those that were signed")
        return record[at : at + width]


def table(catalog: dict) -> list[bytes]:
    """The rows of every vector's table: byte i is the top byte of i times 2654435761 modulo 2^32."""
    rows, width = catalog["rows"], catalog["row_bytes"]
    data = bytes((i * 2654435761 & 0xFFFFFFFF) >> 24 for i in range(rows * width))
    return [data[i * width : (i + 1) * width] for i in range(rows)]
