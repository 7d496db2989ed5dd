// The pool of files, killed at each of its writes: a name is the old file's or the new one's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FilePool, FilePoolExhausted, crc32 } from "../js/file_pool.js";

class Killed extends Error {}

/** A folder whose files lose, keep or tear what was not flushed when it is killed. */
class Folder {
  files = new Map();
  left = Infinity;
  loses = false;

  async *entries() {
    for (const name of this.files.keys()) yield [name, { kind: "file" }];
  }

  async getFileHandle(name, { create } = {}) {
    if (create && !this.files.has(name)) this.files.set(name, { now: new Uint8Array(), durable: new Uint8Array() });
    return { createSyncAccessHandle: async () => new Handle(this, this.files.get(name)) };
  }

  step() {
    if (this.left-- <= 0) throw new Killed();
  }

  /** What is there after the machine has lost its power, or the worker its life. */
  survived() {
    const after = new Folder();
    for (const [name, { now, durable }] of this.files) {
      const bytes = this.loses ? durable : now;
      after.files.set(name, { now: bytes.slice(), durable: bytes.slice() });
    }
    return after;
  }
}

class Handle {
  constructor(folder, file) {
    this.folder = folder;
    this.file = file;
  }
  getSize = () => this.file.now.length;
  close() {}
  read(out, { at }) {
    const bytes = this.file.now.subarray(at, at + out.length);
    out.set(bytes);
    return bytes.length;
  }
  write(bytes, { at }) {
    // A write that is killed is torn in the middle.
    const torn = this.folder.left <= 0 ? bytes.subarray(0, bytes.length >> 1) : bytes;
    const now = new Uint8Array(Math.max(this.file.now.length, at + torn.length));
    now.set(this.file.now);
    now.set(torn, at);
    this.file.now = now;
    this.folder.step();
    return bytes.length;
  }
  truncate(length) {
    this.folder.step();
    const now = new Uint8Array(length);
    now.set(this.file.now.subarray(0, length));
    this.file.now = now;
  }
  flush() {
    this.folder.step();
    this.file.durable = this.file.now.slice();
  }
}

const text = (pool, name) => {
  const out = new Uint8Array(pool.length(name));
  assert.equal(pool.read(name, 0, out), out.length);
  return new TextDecoder().decode(out);
};
const put = (pool, name, content) => {
  pool.make(name);
  pool.setLength(name, 0);
  pool.write(name, 0, new TextEncoder().encode(content));
  pool.sync(name);
};

async function prepared() {
  const folder = new Folder();
  const pool = await FilePool.open(folder, 3);
  put(pool, "kept", "kept");
  put(pool, "state", "old");
  put(pool, "gone", "gone");
  await pool.reserve(2);
  return { folder, pool };
}

for (const loses of [false, true]) {
  test(`a rename is whole or was not, whenever it is killed (${loses ? "power" : "worker"})`, async () => {
    let wasNew = 0;
    let kills = 0;
    for (let left = 0; ; left += 1) {
      const { folder, pool } = await prepared();
      Object.assign(folder, { left, loses });
      let finished = true;
      try {
        put(pool, "state.new", "new");
        pool.rename("state.new", "state");
        pool.remove("gone");
        put(pool, "more", "more");
      } catch (error) {
        assert.ok(error instanceof Killed, error.stack);
        finished = false;
        kills += 1;
      }
      const again = await FilePool.open(folder.survived(), 0);
      const state = text(again, "state");
      assert.ok(["old", "new"].includes(state), state);
      assert.equal(text(again, "kept"), "kept");
      wasNew += state === "new" && !finished ? 1 : 0;
      if (again.names().includes("gone")) assert.equal(text(again, "gone"), "gone");
      if (finished) {
        assert.deepEqual(again.names().sort(), ["kept", "more", "state"]);
        assert.equal(state, "new");
        break;
      }
    }
    assert.ok(kills > 8 && wasNew > 0 && wasNew < kills, `${wasNew} of ${kills}`);
  });
}

test("a pool that has no free file says so, and grows", async () => {
  const pool = await FilePool.open(new Folder(), 1);
  put(pool, "a", "1");
  assert.throws(() => pool.make("b"), FilePoolExhausted);
  await pool.reserve(2);
  put(pool, "b", "2");
  assert.deepEqual([text(pool, "a"), text(pool, "b"), pool.size], ["1", "2", 2]);
  assert.throws(() => pool.length("c"), { name: "NotFoundError" });
});

test("what a file held is not in the next one of its place", async () => {
  const pool = await FilePool.open(new Folder(), 1);
  put(pool, "secret", "a long secret");
  pool.remove("secret");
  pool.make("other");
  assert.equal(pool.length("other"), 0);
});

test("the check is CRC-32", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});
