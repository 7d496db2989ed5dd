// The worker of one table: the whole client runs here, and waits for the network and the disk as a program does.
//
// It receives `{id, op, ...}` and replies `{id, value}` or `{id, fault}`, and in between `{progress}` and `{event}`.
// Calls are made one after the other. What is open is opened by the first call that needs it, and again after another tab had its
// turn.

import { fault } from "./errors.js";
import { families, load } from "./families.js";
import { Host } from "./host.js";
import { FOLDERS, Storage, canKeep, nameOf } from "./storage.js";

let wasm; // The client, once it is loaded.
let host;
let open; // The table, or stack.
let storage; // `null` where nothing is kept.
let withoutCache = false;
let last = Promise.resolve();
let busy = 0;

self.onmessage = ({ data }) => {
  busy += 1;
  last = last.then(() => serve(data)).finally(() => {
    busy -= 1;
  });
};

async function serve({ id, op, ...what }) {
  try {
    const value = await OPS[op](what);
    await letOthers();
    const moved = (value?.values ?? []).flatMap((value) => (value ? [value.buffer] : []));
    postMessage({ id, value }, moved);
  } catch (error) {
    if (error.code === "cache-full") {
      // The next call goes on without what there is no room for.
      withoutCache = true;
      shut();
    }
    if (!isTrap(error)) await letOthers().catch(() => {});
    postMessage({ id, fault: faultOf(error), dead: isTrap(error) });
  }
}

const OPS = {
  async open({ spec }) {
    await opened(spec);
    return { about: about() };
  },
  async lookUp({ spec, lookups, batch }) {
    await opened(spec);
    const [values, cost] = withFaults(() => open.lookUp(JSON.stringify(lookups), batch));
    return { values, cost: JSON.parse(cost), about: about() };
  },
  async refresh({ spec }) {
    await opened(spec);
    return { changed: withFaults(() => open.refresh()), about: about() };
  },
  async close() {
    shut();
    storage?.close();
    storage = undefined;
    return {};
  },
  async selfTest({ vector }) {
    needed();
    wasm = await load(familyOf(vector));
    return { row: withFaults(() => wasm.selfTest(vector)) };
  },
};

const about = () => JSON.parse(withFaults(() => open.about()));

/** What the client below says; its faults are text. */
function withFaults(work) {
  try {
    return work();
  } catch (error) {
    throw typeof error === "string" ? JSON.parse(error) : error;
  }
}

async function opened(spec) {
  await ready(spec);
  if (open) {
    await storage?.reserve(false);
    return;
  }
  const { table, options } = spec;
  const folderOptions = storage ? folders(options) : { in_memory: options.in_memory };
  const to = JSON.stringify({ urls: spec.urls, table, insecure_plaintext: spec.insecurePlaintext });
  let ranOut = false;
  for (;;) {
    await storage?.reserve(ranOut);
    ranOut = false;
    try {
      open = withFaults(() => wasm.Table.open(to, JSON.stringify({ ...options, ...folderOptions })));
      host.isFresh = false;
      return;
    } catch (error) {
      // The number of files is not known beforehand. No query was sent yet.
      ranOut = storage?.takeRanOut() ?? false;
      if (ranOut) continue;
      if (folderOptions.cache && isCache(error)) {
        say("event", `nothing is stored: ${error.message}`);
        delete folderOptions.cache;
        withoutCache = true;
        continue;
      }
      // The browser may have a damaged copy in its own cache, and would show it for ever.
      if (error.kind === "peer" && !host.isFresh) {
        host.isFresh = true;
        continue;
      }
      host.isFresh = false;
      throw storage === null && error.code === "state-needed" ? noPlace(error) : error;
    }
  }
}

function folders({ in_memory }) {
  const state = in_memory ? { in_memory } : { state: FOLDERS.state, rollback_dir: FOLDERS.rollback };
  return withoutCache ? state : { cache: FOLDERS.cache, ...state };
}

const isCache = ({ code }) => ["cache-full", "cache-io"].includes(code);

/** Has the client loaded, and the turn for what is kept. */
async function ready(spec) {
  needed();
  storage = storage === undefined ? await place(spec) : storage;
  if (storage && !(await storage.take(spec.options.max_wait * 1000, () => say("event", WAITING)))) {
    throw fault("storage", "state-busy", "another tab has this table open", "close the other tab");
  }
  if (wasm) return;
  host = new Host(spec.urls, spec.timeout, storage, say);
  wasm = await load(await familyFor(spec));
  wasm.start(host);
}

function needed() {
  if (typeof WebAssembly !== "object") {
    throw fault("machine", "no-webassembly", "WebAssembly is off in this browser", "enable it, or use another browser");
  }
}

const WAITING = "waiting for another tab that has this table open";

/** Where this table's files go; `null` if nowhere. */
async function place(spec) {
  if (spec.keep === false) return null;
  if (!canKeep()) {
    say("event", "nothing is stored: this browser or page has no file system (OPFS) or no locks");
    return null;
  }
  try {
    const made = new Storage(await nameOf(spec.urls, spec.table), giveUpWhenIdle);
    await made.take(0, () => {});
    return made;
  } catch (error) {
    if (!["NotAllowedError", "SecurityError", "QuotaExceededError", "UnknownError"].includes(error.name)) throw error;
    say("event", `nothing is stored: ${error.message}`);
    return null;
  }
}

const noPlace = ({ message }) =>
  fault(
    "storage",
    "state-needed",
    `${message}, so nothing can be stored for this page`,
    "use a window with storage (not a private one) and free space, or give state: 'memory', which is lost with the page",
  );

/** Which of the builds has the table's scheme, by its catalog, which the client verifies for itself afterwards. */
async function familyFor({ urls, table, family }) {
  if (family) return family;
  const document = async (path, inside) => {
    const response = await fetch(new URL(path, `${urls[0].replace(/\/+$/, "")}/`), { credentials: "omit" });
    return response.ok ? JSON.parse((await response.json())[inside]) : undefined;
  };
  try {
    const name = encodeURIComponent(table);
    let catalog = await document(`v1/tables/${name}`, "catalog");
    if (!catalog) {
      const stack = await document(`v1/stacks/${name}`, "stack");
      catalog = await document(`v1/tables/${encodeURIComponent(stack.shards[0].table)}`, "catalog");
    }
    return families[catalog.scheme] ?? families.usual;
  } catch {
    // Whatever is wrong, the client finds it too, and says whose fault it is.
    return families.usual;
  }
}

/** Which of the builds has the scheme of a vector. What is none, each of them says. */
function familyOf(vector) {
  const text = new TextDecoder().decode(vector.subarray(0, 4096));
  return families[/"scheme"\s*:\s*"([^"]*)"/.exec(text)?.[1]] ?? families.usual;
}

function giveUpWhenIdle() {
  if (busy === 0) giveUp();
}

async function letOthers() {
  if (storage?.isHeld && busy === 1 && (await storage.isWanted())) giveUp();
}

function giveUp() {
  shut();
  storage?.giveUp();
}

/** Closes what is open. The next call opens it again. */
function shut() {
  open?.free();
  open = undefined;
}

function say(kind, what) {
  postMessage({ [kind]: what });
}

const isTrap = (error) => typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError;

function faultOf(error) {
  if (error.kind && error.code) return error;
  if (isTrap(error)) {
    const why = host?.panicked ?? error.message;
    return fault("machine", "bug", `the client has stopped: ${why}`, "report this; the next call starts a new client");
  }
  if (error.name === "QuotaExceededError") {
    return fault("storage", "state-full", `the storage is full: ${error.message}`, "free some space; no request was sent, and nothing is lost");
  }
  const fix = "reload the page, and report this if it persists";
  return fault("machine", "worker-failed", `${error.name}: ${error.message}`, fix);
}
