// Rows of somebody else's table, without telling them which. See README.md.

import { MisuseError, RowError, fault, raised } from "./errors.js";
import { WorkerClient } from "./worker_client.js";

export * from "./errors.js";

const ROWS_LIMIT = 2n ** 64n;
const DEFAULTS = { timeout: 60, maxWait: 120 };

/** Opens a table, or a stack of that name: at one address, or at one for each server of its scheme, server 0 first. */
export async function connect(urls, table, options = {}) {
  const opened = new Table(SECRET, specOf(urls, table, options), options);
  await opened.open(options);
  return opened;
}

/** Replays a recorded lookup (`spec/vectors`) in a worker of its own: whether this browser makes the recorded bytes. Gives the row. */
export async function selfTest(vector, { signal } = {}) {
  const isBytes = vector instanceof Uint8Array || vector instanceof ArrayBuffer;
  if (!isBytes) throw wrong("a vector is not bytes", "give a vector of spec/vectors: its text, followed by the bytes of the file beside it");
  const worker = new WorkerClient();
  try {
    const { row } = await worker.call("selfTest", { vector: new Uint8Array(vector) }, signal);
    return row;
  } finally {
    worker.end();
  }
}

const SECRET = Symbol("made by connect");

/** An open table. Its lookups are made one after the other, in a worker of its own. */
export class Table {
  #spec;
  #worker;
  #about;
  #last;
  #closed = false;

  constructor(secret, spec, options) {
    if (secret !== SECRET) throw new MisuseError("a table is not created with connect()", { code: "misuse", fault: "misuse" });
    this.#spec = spec;
    this.#worker = new WorkerClient(options);
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
  async get(lookup, { signal } = {}) {
    const [value] = await this.getMany([lookup], { batch: 1, signal });
    return value;
  }

  /** Several rows or keys in one round, filled up to a multiple of `batch`, so that their number is not seen. */
  async getMany(lookups, { batch = 16, signal } = {}) {
    const parsed = Array.from(lookups, parse);
    if (!Number.isSafeInteger(batch) || batch < 1 || batch > 65536) {
      throw wrong(`a batch of ${String(batch)} lookups is not possible`, "give a size from 1 to 65536");
    }
    const { values, cost } = await this.#call("lookUp", { lookups: parsed.map(({ lookup }) => lookup), batch }, signal);
    this.#last = Object.freeze({ ...cost, query_prefix: Uint8Array.from(cost.query_prefix) });
    // No silent abort: what can be no row or key was looked up like anything else.
    const bad = parsed.find(({ error }) => error);
    if (bad) throw bad.error;
    return values;
  }

  /** Looks for a newer epoch. Gives whether there was one. */
  async refresh({ signal } = {}) {
    const { changed } = await this.#call("refresh", {}, signal);
    return changed;
  }

  /** Closes the table. Later calls throw. */
  async close() {
    if (this.#closed) return;
    const closing = this.#worker.isRunning && this.#call("close", {});
    this.#closed = true;
    try {
      await closing;
    } finally {
      this.#worker.end(fault("misuse", "closed", "the table is closed", "open it again, with connect()"));
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }

  async #call(op, what, signal) {
    if (this.#closed) throw raised(fault("misuse", "closed", "the table is closed", "open it again, with connect()"));
    const value = await this.#worker.call(op, { spec: this.#spec, ...what }, signal);
    this.#about = value.about ? Object.freeze(value.about) : this.#about;
    return value;
  }
}

const wrong = (message, fix) => new MisuseError(message, { code: "misuse", fix, fault: "misuse" });

/** What the worker looks up, and what is wrong with it once everything was sent. */
function parse(lookup) {
  if (typeof lookup === "number" || typeof lookup === "bigint") return row(lookup);
  const key = lookup?.key;
  if (typeof key === "string") {
    if (isWellFormed(key)) return { lookup: { key } };
    return { lookup: null, error: wrong("a key has an unpaired surrogate", "give valid text") };
  }
  const error = wrong(`expected a row as a number or { key: text }, got ${typeof lookup}`, "give one of the two");
  return { lookup: null, error };
}

function row(number) {
  const isWhole = typeof number === "bigint" || Number.isSafeInteger(number);
  if (isWhole && number >= 0 && BigInt(number) < ROWS_LIMIT) return { lookup: { row: String(number) } };
  const about = { code: "misuse", fix: "give a row of the table", fault: "row" };
  return { lookup: null, error: new RowError("the row number is not a whole number of a row in the table", about) };
}

const isWellFormed = (text) => text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text);

const OPTIONS = new Set([
  "pin", "state", "keep", "freshKeys", "requireRowProofs", "requireAuthenticatedAnswers", "timeout", "maxWait", "family",
  "insecurePlaintext", "onProgress", "onEvent", "signal",
]);

/** What was said, as the worker takes it. */
function specOf(urls, table, options) {
  const other = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (other) throw wrong(`unknown option ${other}`, `options are ${[...OPTIONS].join(", ")}`);
  const { timeout, maxWait } = { ...DEFAULTS, ...options };
  for (const [name, seconds] of Object.entries({ timeout, maxWait })) {
    if (!(typeof seconds === "number" && seconds >= 0 && seconds < 1e6)) {
      throw wrong(`${name} is not a duration: ${String(seconds)}`, "give a number of seconds, such as 60");
    }
  }
  if (typeof table !== "string") throw wrong("a table's name is not text", "give a name of a-z, 0-9 and '-'");
  if (options.state !== undefined && options.state !== "memory") {
    throw wrong("state is neither omitted nor 'memory'", "omit it, or give 'memory'");
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
      require_row_proofs: options.requireRowProofs === true,
      require_authenticated_answers: options.requireAuthenticatedAnswers === true,
      max_wait: maxWait,
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
