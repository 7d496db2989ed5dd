// A worker, and the calls that wait for it.

import { fault, raised } from "./errors.js";

export class WorkerClient {
  #onProgress;
  #onEvent;
  #worker;
  #waiting = new Map();
  #number = 0;

  constructor({ onProgress, onEvent } = {}) {
    this.#onProgress = onProgress;
    this.#onEvent = onEvent;
  }

  /** Whether there is one. The first call starts it, and the first after an end starts another. */
  get isRunning() {
    return this.#worker !== undefined;
  }

  async call(op, what, signal) {
    signal?.throwIfAborted();
    const worker = (this.#worker ??= this.#start());
    this.#number += 1;
    const id = this.#number;
    // The client waits in its worker and hears nothing meanwhile. So to give up is to end the worker, as a crash would: what must
    // not be lost is on disk before anything leaves, and the next call goes on from there.
    const abort = () => {
      const { reject } = this.#waiting.get(id) ?? {};
      this.#waiting.delete(id);
      reject?.(signal.reason);
      this.end(fault("misuse", "aborted", "another call of this table was aborted", "call again"));
    };
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        signal?.addEventListener("abort", abort, { once: true });
        worker.postMessage({ id, op, ...what });
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends the worker. Calls that wait fail. */
  end(why) {
    this.#worker?.terminate();
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(raised(why));
  }

  #start() {
    let worker;
    try {
      worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "sotto" });
    } catch (error) {
      throw raised(noWorker(error.message));
    }
    worker.onmessage = ({ data }) => {
      if (data.progress) return this.#onProgress?.(data.progress);
      if (data.event) return this.#onEvent?.(data.event);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.fault) waiting?.reject(raised(data.fault));
      else waiting?.resolve(data.value);
      // After a trap nothing in there can be relied on.
      if (data.dead && worker === this.#worker) this.end(data.fault);
    };
    // It could not be loaded, or something in it was not caught.
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (worker === this.#worker) this.end(noWorker(event.message ?? "cannot load its file"));
    };
    return worker;
  }
}

const noWorker = (why) =>
  fault(
    "machine",
    "worker-failed",
    `cannot run the worker: ${why}`,
    "serve the package's js and pkg folders from the page's own origin, and allow workers from there in the content security policy",
  );
