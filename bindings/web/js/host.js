// What the client needs of the browser: requests, files, waiting. All of it blocks until it is done.

const RESPONSE_LIMIT = "TooLarge";

export class Host {
  #urls;
  #timeout;
  #files;
  #say;
  /** What the client said when it stopped for good. */
  panicked;
  /** Whether nothing comes out of the browser's own cache. */
  isFresh = false;

  constructor(urls, timeout, files, say) {
    this.#urls = urls.map((url) => url.replace(/\/+$/, ""));
    this.#timeout = timeout * 1000;
    this.#files = files;
    this.#say = say;
  }

  /** Sends a request and waits for its response. Throws an error with a name: what came of it if nothing did. */
  request(server, method, path, first, end, body, limit) {
    const url = this.#urls[server] + path;
    const request = new XMLHttpRequest();
    request.open(method, url, false);
    request.responseType = "arraybuffer";
    request.timeout = this.#timeout;
    if (end > first) request.setRequestHeader("range", `bytes=${first}-${end - 1}`);
    // A request with a condition of its own passes the browser's cache by (the Fetch standard). No file has this tag.
    if (method === "GET" && this.isFresh) request.setRequestHeader("if-none-match", '"fresh"');
    if (method === "POST") request.setRequestHeader("content-type", "application/octet-stream");
    request.send(method === "POST" ? body : null);
    // A redirect would take the query to somebody else.
    if (request.responseURL !== new URL(url, self.location).href) throw named("Redirected", request.responseURL);
    const bytes = new Uint8Array(request.response ?? new ArrayBuffer(0));
    const isSuccess = request.status === 200 || request.status === 206;
    if (isSuccess && bytes.length > limit) throw named(RESPONSE_LIMIT, `${bytes.length} bytes`);
    return {
      status: request.status,
      body: bytes,
      retryAfter: request.getResponseHeader("retry-after") ?? undefined,
      serverTiming: request.getResponseHeader("server-timing") ?? undefined,
    };
  }

  progress = (stage, done, total) => this.#say("progress", { stage, done, total });
  event = (text) => this.#say("event", text);
  panic = (text) => {
    this.panicked = text;
  };

  /** Text as keys have it: whatever looks the same is the same. */
  normal = (text) => text.normalize("NFC");
  /** A name of a machine as URLs have it. */
  hostOf(text) {
    try {
      return new URL(`http://${text}/`).hostname;
    } catch {
      return undefined;
    }
  }

  names = () => this.#files.names();
  length = (name) => this.#files.length(name);
  make = (name) => this.#files.make(name);
  read = (name, at, out) => this.#files.read(name, at, out);
  write = (name, at, bytes) => this.#files.write(name, at, bytes);
  setLength = (name, length) => this.#files.setLength(name, length);
  sync = (name) => this.#files.sync(name);
  remove = (name) => this.#files.remove(name);
  rename = (from, to) => this.#files.rename(from, to);

  /** Waits that many milliseconds. */
  pause(milliseconds) {
    if (waiter) {
      Atomics.wait(waiter, 0, 0, milliseconds);
      return;
    }
    // Nothing here waits without a loop; a short one is better than none.
    const end = performance.now() + Math.min(milliseconds, LONGEST_LOOP);
    while (performance.now() < end);
  }
}

const LONGEST_LOOP = 500;

/** Memory to wait on. Without isolation browsers hide `SharedArrayBuffer`, and some still give the memory of a module. */
const waiter = (() => {
  try {
    return new Int32Array(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer);
  } catch {
    return undefined;
  }
})();

const named = (name, message) => Object.assign(new Error(message), { name });
