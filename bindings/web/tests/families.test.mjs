// The list of families is that of the builds.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { families } from "../js/families.js";

/** A recorded lookup of the scheme gives its row, and a changed one is refused. */
function replays(module, scheme) {
  const at = (end) => new URL(`../../../spec/vectors/${scheme.replace("/", "-")}.${end}`, import.meta.url);
  const files = ["json", "bin"].map(at).filter((file) => existsSync(file));
  const vector = Buffer.concat(files.map((file) => readFileSync(file)));
  const { value } = JSON.parse(readFileSync(files[0]));
  assert.equal(Buffer.from(module.selfTest(vector)).toString("hex"), value, scheme);
  assert.throws(() => module.selfTest(vector.subarray(1)), (fault) => JSON.parse(fault).message.length > 0);
}

test("each build has the schemes of its family, and every scheme has one", async () => {
  const found = {};
  for (const family of new Set(Object.values(families))) {
    for (const kind of ["plain", "simd"]) {
      const at = new URL(`../pkg/${family}/${kind}/`, import.meta.url);
      const module = await import(new URL("sotto.js", at));
      module.initSync({ module: readFileSync(new URL("sotto_bg.wasm", at)) });
      const schemes = JSON.parse(module.schemes());
      assert.ok(schemes.length > 0);
      for (const scheme of schemes) {
        found[scheme] = family;
        replays(module, scheme);
      }
    }
  }
  const { usual, ...listed } = families;
  assert.deepEqual(found, listed);
  const registry = readFileSync(new URL("../../../crates/sotto-registry/Cargo.toml", import.meta.url), "utf8");
  const list = (feature) => new RegExp(`^${feature} = \\[([^\\]]*)\\]`, "m").exec(registry)[1].match(/"[^"]+"/g);
  const all = [...list("schemes"), ...list("baselines")];
  assert.ok(all.length > 20);
  const crate = readFileSync(new URL("../Cargo.toml", import.meta.url), "utf8");
  for (const feature of all) assert.ok(crate.includes(`"sotto-registry?/${feature.slice(1, -1)}"`), `${feature} is in no family`);
});
