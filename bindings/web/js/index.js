// Rows of somebody else's table, without telling them which. See README.md.

import { MisuseError, RowError, fault, raised } from "./errors.js";
import { Remote } from "./remote.js";

export * from "./errors.js";

const MOST = 2n ** 64n;
const USUAL = { timeout: 60, patience: 120 };

/** Opens a table, or a stack of that name: at one address, or at one for each server its scheme asks, server 0 first. */
export async function connect(urls, table, options = {}) {
  const opened = new Table(SECRET, specOf(urls, table, options), options);
  await opened.open(options);
  return opened;
}

/** Replays a recorded lookup (`spec/vectors`) in a worker of its own: whether this browser makes the recorded bytes. Gives the row. */
export async function selfTest(vector, { signal } = {}) {
  const isBytes = vector instanceof Uint8Array || vector instanceof ArrayBuffer;
  if (!isBytes) throw wrong("a vector is bytes", "give one of spec/vectors: its text, and behind it the bytes of the file beside it");
  const remote = new Remote();
  try {
    return await remote.call("selfTest", { vector: new Uint8Array(vector) }, signal);
  } finally {
    remote.end();
  }
}

const SECRET = Symbol("made by connect");

/** An open table. Its lookups are made one after the other, in a worker of its own. */
export class Table {
  #spec;
  #remote;
  #about;
  #last;
  #closed = false;

  constructor(secret, spec, options) {
    if (secret !== SECRET) throw new MisuseError("a table is made by connect()", { code: "misuse", fault: "misuse" });
    this.#spec = spec;
    this.#remote = new Remote(options);
  }

  /** What the table is, as the last call found it. */
  get about() {
    return this.#about;
  }

  /** What the last lookup cost, and what the servers saw of it. */
  get last() {
    return this.#last;
  }

  async open({ signal } = {}) {
    await this.#call("open", {}, signal);
  }

  /** A row by its number, or the value of `{ key }`, which is `null` if the table does not have the key. */
  async get(item, { signal } = {}) {
    const [value] = await this.getMany([item], { batch: 1, signal });
    return value;
  }

  /** Several rows or keys in one round, filled up to a multiple of `batch`, so that their number is not seen. */
  async getMany(items, { batch = 16, signal } = {}) {
    const wanted = Array.from(items, wantedOf);
    if (!Number.isSafeInteger(batch) || batch < 1 || batch > 65536) {
      throw wrong(`a batch of ${String(batch)} is none`, "give one of 1 to 65536");
    }
    const { values, cost } = await this.#call("ask", { wanted: wanted.map(({ wish }) => wish), batch }, signal);
    this.#last = Object.freeze({ ...cost, seen: Uint8Array.from(cost.seen) });
    // Silence tells nothing: what can be no row or key was asked for like anything else.
    const bad = wanted.find(({ error }) => error);
    if (bad) throw bad.error;
    return values;
  }

  /** Looks for a newer epoch. Gives whether there was one. */
  async refresh({ signal } = {}) {
    const { changed } = await this.#call("refresh", {}, signal);
    return changed;
  }

  /** Closes it. Asked again, it throws. */
  async close() {
    if (this.#closed) return;
    const closing = this.#remote.isRunning && this.#call("close", {});
    this.#closed = true;
    try {
      await closing;
    } finally {
      this.#remote.end(fault("misuse", "closed", "the table is closed", "open it again, with connect()"));
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }

  async #call(op, what, signal) {
    if (this.#closed) throw raised(fault("misuse", "closed", "the table is closed", "open it again, with connect()"));
    const value = await this.#remote.call(op, { spec: this.#spec, ...what }, signal);
    this.#about = value.about ? Object.freeze(value.about) : this.#about;
    return value;
  }
}

const wrong = (message, fix) => new MisuseError(message, { code: "misuse", fix, fault: "misuse" });

/** What is asked for, and what is wrong with it once everything was asked. */
function wantedOf(item) {
  if (typeof item === "number" || typeof item === "bigint") return row(item);
  const key = item?.key;
  if (typeof key === "string") {
    if (isWellFormed(key)) return { wish: { key } };
    return { wish: null, error: wrong("a key holds half a character (a surrogate)", "give whole characters") };
  }
  const error = wrong(`a row is a number and a key is { key: text }, not ${typeof item}`, "give one of the two");
  return { wish: null, error };
}

function row(number) {
  const isWhole = typeof number === "bigint" || Number.isSafeInteger(number);
  if (isWhole && number >= 0 && BigInt(number) < MOST) return { wish: { row: String(number) } };
  const about = { code: "misuse", fix: "give a row of the table", fault: "row" };
  return { wish: null, error: new RowError("a row's number is whole, from 0 on, and below the number of rows", about) };
}

const isWellFormed = (text) => text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text);

const KNOWN = new Set([
  "pin", "state", "keep", "freshKeys", "verified", "timeout", "patience", "family", "insecurePlaintext",
  "onProgress", "onEvent", "signal",
]);

/** What was said, as the worker takes it. */
function specOf(urls, table, options) {
  const other = Object.keys(options).find((name) => !KNOWN.has(name));
  if (other) throw wrong(`there is no option ${other}`, `options are ${[...KNOWN].join(", ")}`);
  const { timeout, patience } = { ...USUAL, ...options };
  for (const [name, seconds] of Object.entries({ timeout, patience })) {
    if (!(typeof seconds === "number" && seconds >= 0 && seconds < 1e6)) {
      throw wrong(`${name} is no length of time: ${String(seconds)}`, "give a number of seconds, such as 60");
    }
  }
  if (typeof table !== "string") throw wrong("a table's name is text", "give a name of a-z, 0-9 and '-'");
  if (options.state !== undefined && options.state !== "memory") {
    throw wrong("a state is kept in the browser's storage, or in 'memory'", "leave it out, or say 'memory'");
  }
  const base = globalThis.location?.href;
  const all = (Array.isArray(urls) ? urls : [urls]).map((url) => addressOf(url, base));
  return {
    urls: all,
    table,
    timeout,
    keep: options.keep,
    family: options.family,
    insecurePlaintext: options.insecurePlaintext === true,
    options: {
      pin: options.pin ?? null,
      in_memory: options.state === "memory",
      fresh_keys: options.freshKeys === true,
      verified: options.verified === true,
      patience,
    },
  };
}

function addressOf(url, base) {
  try {
    const { protocol, href, search, hash, username } = new URL(url, base);
    if (/^https?:$/.test(protocol) && !search && !hash && !username) return href.replace(/\/+$/, "");
  } catch {
    // Said below.
  }
  const about = { code: "bad-address", fix: "give an address such as https://lookup.example", fault: "misuse" };
  throw new MisuseError(`${String(url)} is not an address of a server`, about);
}
