// What is kept of one table, and whose turn it is: one tab has it at a time, and gives it up when another one wants it.
//
//     sotto/<hash of servers and table>/files/     hints, keys, what was seen, the state     one pool
//     sotto/<hash of servers and table>/rollback/  its rollback counter                       another one
//
// A Web Lock of that name says whose it is; the browser releases it with the worker that has it, however that ends.

import { FilePool, FilePoolExhausted } from "./file_pool.js";

/** What the client calls its folders. */
export const FOLDERS = { cache: "files/cache", state: "files/state", rollback: "rollback" };

/** Free files that are there before each call. A lookup makes four at most; opening a stack makes some for each table. */
const SPARE = 8;

/** Whether this browser, and this page, can keep files. */
export const canKeep = () =>
  typeof navigator.storage?.getDirectory === "function" &&
  typeof FileSystemFileHandle?.prototype?.createSyncAccessHandle === "function" &&
  navigator.locks !== undefined &&
  crypto.subtle !== undefined;

/** The name of a table's storage. */
export async function nameOf(urls, table) {
  const text = new TextEncoder().encode(JSON.stringify(["sotto-storage/1", urls, table]));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return [...hash.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Storage {
  #name;
  #channel;
  #release;
  #pools;
  #onWanted;

  /** `onWanted` is called when another tab wants what this one has. */
  constructor(name, onWanted) {
    this.#name = name;
    this.#onWanted = onWanted;
    this.#channel = new BroadcastChannel(`sotto:${name}`);
    this.#channel.onmessage = ({ data }) => {
      if (data === "wanted" && this.#release) this.#onWanted();
    };
  }

  get isHeld() {
    return this.#release !== undefined;
  }

  /** Takes the turn, waiting at most that many milliseconds. Returns whether it did. */
  async take(maxWait, onWaiting) {
    if (this.isHeld) return true;
    const lock = `sotto:${this.#name}`;
    let got = await this.#request(lock, { ifAvailable: true });
    if (!got) {
      onWaiting();
      this.#channel.postMessage("wanted");
      got = await this.#request(lock, { signal: AbortSignal.timeout(maxWait) });
    }
    if (!got) return false;
    this.#release = got;
    try {
      await this.#open();
    } catch (error) {
      this.giveUp();
      throw error;
    }
    return true;
  }

  // Gives what releases the lock; `undefined` if it was not to be had.
  #request(lock, options) {
    return new Promise((resolve, reject) => {
      const held = (got) =>
        got && new Promise((release) => resolve(release));
      navigator.locks.request(lock, options, held).then(
        () => resolve(undefined),
        (error) => (["AbortError", "TimeoutError"].includes(error.name) ? resolve(undefined) : reject(error)),
      );
    });
  }

  async #open() {
    const root = await navigator.storage.getDirectory();
    const sotto = await root.getDirectoryHandle("sotto", { create: true });
    const own = await sotto.getDirectoryHandle(this.#name, { create: true });
    const folder = (name) => own.getDirectoryHandle(name, { create: true });
    const files = await FilePool.open(await folder("files"), SPARE);
    try {
      this.#pools = { files, rollback: await FilePool.open(await folder("rollback"), 2) };
    } catch (error) {
      files.close();
      throw error;
    }
  }

  /** Has free files ready for the next call; more of them after one that ran out. */
  async reserve(ranOut) {
    const { files, rollback } = this.#pools;
    await files.reserve(ranOut ? Math.max(4 * SPARE, files.size) : SPARE);
    await rollback.reserve(ranOut ? 4 * SPARE : 2);
  }

  /** Whether another tab waits for its turn. */
  async isWanted() {
    const { pending } = await navigator.locks.query();
    return pending.some((lock) => lock.name === `sotto:${this.#name}`);
  }

  /** Lets another tab have its turn. The files must no longer be in use. */
  giveUp() {
    for (const pool of Object.values(this.#pools ?? {})) pool.close();
    this.#pools = undefined;
    this.#release?.();
    this.#release = undefined;
  }

  close() {
    this.giveUp();
    this.#channel.close();
  }

  // The files of the client below, by name. `#ranOut` shows afterwards why one could not be made.
  #ranOut = false;

  /** Whether a file was requested that could not be made at once, since the last call. */
  takeRanOut() {
    const ranOut = this.#ranOut;
    this.#ranOut = false;
    return ranOut;
  }

  #pool(name) {
    const pool = this.#pools?.[name.slice(0, name.indexOf("/"))];
    if (!pool) throw Object.assign(new Error(`no storage for ${name}`), { name: "NotFoundError" });
    return pool;
  }

  names = () => Object.values(this.#pools ?? {}).flatMap((pool) => pool.names());
  length = (name) => this.#pool(name).length(name);
  read = (name, at, out) => this.#pool(name).read(name, at, out);
  write = (name, at, bytes) => this.#pool(name).write(name, at, bytes);
  setLength = (name, length) => this.#pool(name).setLength(name, length);
  sync = (name) => this.#pool(name).sync(name);
  remove = (name) => this.#pool(name).remove(name);
  rename = (from, to) => this.#pool(from).rename(from, to);

  make = (name) => {
    try {
      this.#pool(name).make(name);
    } catch (error) {
      this.#ranOut ||= error instanceof FilePoolExhausted;
      throw error;
    }
  };
}
