// What tests do in a tab. Errors come as data, since a browser hands a test no classes.

import * as sotto from "/js/index.js";

const tables = new Map();
const events = [];

const address = (server) => `${location.origin}/${server}`;

async function outcome(work) {
  try {
    return await work();
  } catch (error) {
    const kinds = Object.entries(sotto).filter(([name, kind]) => name.endsWith("Error") && error instanceof kind);
    const { name, code, fix, fault, message } = error;
    return { error: name, kinds: kinds.map(([name]) => name), code, fix, fault, message };
  }
}

const bytes = (value) => value && Array.from(value);
const text = (value) => value && new TextDecoder().decode(value);

let copied = new Map();

async function filesIn(folder) {
  const found = new Map();
  const walk = async (directory, path) => {
    for await (const [name, handle] of directory.entries()) {
      const at = `${path}/${name}`;
      if (handle.kind === "directory") await walk(handle, at);
      else if (at.includes(folder)) found.set(at, await (await handle.getFile()).arrayBuffer());
    }
  };
  await walk(await navigator.storage.getDirectory(), "");
  return found;
}

globalThis.lookups = {
  sotto,
  events,
  connect: (name, options = {}, servers = [0]) =>
    outcome(async () => {
      const urls = servers.map((server) => (typeof server === "string" ? server : address(server)));
      const told = (event) => events.push(event);
      const onProgress = ({ stage }) => told(`at ${stage}`);
      const table = await sotto.connect(urls, name, { ...options, onEvent: told, onProgress });
      tables.set(name, table);
      return table.about;
    }),
  get: (name, item) =>
    outcome(async () => {
      const row = bytes(await tables.get(name).get(item));
      return { row, last: { ...tables.get(name).last, query_prefix: undefined } };
    }),
  word: (name, key) => outcome(async () => text(await tables.get(name).get({ key }))),
  many: (name, lookups, options) => outcome(async () => (await tables.get(name).getMany(lookups, options)).map(text)),
  refresh: (name) => outcome(() => tables.get(name).refresh()),
  close: (name) => outcome(() => tables.get(name).close()),
  last: (name) => tables.get(name).last,
  about: (name) => tables.get(name).about,
  told: () => events.splice(0),
  /** Asks, and gives up after so many milliseconds. */
  giveUp: (name, item, milliseconds) =>
    outcome(async () => bytes(await tables.get(name).get(item, { signal: AbortSignal.timeout(milliseconds) }))),
  oddItems: (name) =>
    outcome(async () => {
      const odd = [-1, 1.5, NaN, 2 ** 53, 2n ** 64n, "7", null, undefined, {}, { key: 7 }, { key: "\ud800" }, 10 ** 9];
      const all = [];
      for (const item of odd) all.push(await outcome(() => tables.get(name).get(item)));
      return all;
    }),
  /** Replays a vector, given as bytes or as what is to be no vector. */
  selfTest: (vector) => outcome(async () => bytes(await sotto.selfTest(Array.isArray(vector) ? Uint8Array.from(vector) : vector))),
  /** How many files there are in the browser's file system. */
  files: async () => (await filesIn("")).size,
  /** Copies the files below a folder. */
  async copy(folder) {
    copied = await filesIn(folder);
  },
  /** Puts the copies back. */
  async restore() {
    for (const [path, content] of copied) {
      let directory = await navigator.storage.getDirectory();
      const [name, ...above] = path.split("/").slice(1).reverse();
      for (const part of above.reverse()) directory = await directory.getDirectoryHandle(part, { create: true });
      const writable = await (await directory.getFileHandle(name, { create: true })).createWritable();
      await writable.write(content);
      await writable.close();
    }
  },
  async wipe() {
    const root = await navigator.storage.getDirectory();
    for await (const name of root.keys()) await root.removeEntry(name, { recursive: true });
  },
};
