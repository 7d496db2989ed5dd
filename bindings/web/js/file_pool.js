// Files that can be read and written without waiting, in a folder of the browser's own file system (OPFS).
//
// Opening a file there is asynchronous, and the client below does not wait. So a number of files is opened beforehand, and each
// says in its head which name it has at the moment: the technique of SQLite's pool of access handles. A name changes hands by
// one write, so that after a crash a name is the old file's or the new one's.
//
//     0     the head, one side      magic, CRC-32 of the rest, number, length of the name, name
//     4096  the head, other side
//     8192  the file's bytes
//
// Heads are written in turns, one side and then the other, so that a write that is torn leaves the one before. The larger
// number counts, on the two sides and among files that claim one name.

const APART = 4096;
const BODY = 2 * APART;
const HEAD = 24;
const MAX_NAME_BYTES = 1024;
const MAGIC = 0x6c6f_6f70;

/** There is no free file left. The pool has to grow, which takes an await. */
export class FilePoolExhausted extends Error {
  name = "FilePoolExhausted";
}

const failed = (name, message) => Object.assign(new Error(message), { name });
const missing = (name) => failed("NotFoundError", `no such file: ${name}`);

export class FilePool {
  #folder;
  #free = [];
  #named = new Map();
  #number = 0;
  #files = 0;

  /** Opens the pool in a folder of the browser's file system, with at least that many free files. */
  static async open(folder, spare) {
    const pool = new FilePool();
    pool.#folder = folder;
    const names = [];
    for await (const [name, handle] of folder.entries()) if (handle.kind === "file") names.push(name);
    const opened = await Promise.allSettled(names.map((name) => pool.#handle(name)));
    const failure = opened.find((outcome) => outcome.status === "rejected");
    if (failure) {
      for (const outcome of opened) outcome.value?.close();
      throw failure.reason;
    }
    pool.#files = names.reduce((most, name) => Math.max(most, Number(name) + 1 || 0), 0);
    try {
      for (const { value } of opened) pool.#adopt(value);
      await pool.reserve(spare);
    } catch (error) {
      pool.close();
      throw error;
    }
    return pool;
  }

  /** How many files have a name. */
  get size() {
    return this.#named.size;
  }

  /** Opens more files, until that many are free. */
  async reserve(spare) {
    while (this.#free.length < spare) {
      const handle = await this.#handle(String(this.#files), true);
      this.#files += 1;
      this.#free.push({ handle, side: 0 });
    }
  }

  // A worker that has just ended may have its files for a moment longer.
  async #handle(name, create = false) {
    const file = await this.#folder.getFileHandle(name, { create });
    for (let tries = 0; ; tries += 1) {
      try {
        return await file.createSyncAccessHandle();
      } catch (error) {
        if (error.name !== "NoModificationAllowedError" || tries >= 100) throw error;
        await new Promise((wake) => setTimeout(wake, 20));
      }
    }
  }

  #adopt(handle) {
    const sides = [0, 1].map((side) => ({ side, ...readHead(handle, side) }));
    const { side, number = 0, name = "" } = sides.reduce((a, b) => ((b.number ?? 0) > (a.number ?? 0) ? b : a));
    const file = { handle, side, number };
    this.#number = Math.max(this.#number, number);
    const other = name && this.#named.get(name);
    if (!name || (other && other.number > number)) {
      if (name) this.#write(file, "");
      this.#free.push(file);
      return;
    }
    if (other) {
      this.#write(other, "");
      this.#free.push(other);
    }
    this.#named.set(name, file);
  }

  #write(file, name) {
    const side = 1 - file.side;
    this.#number += 1;
    writeHead(file.handle, side, this.#number, name);
    file.handle.flush();
    file.side = side;
    file.number = this.#number;
  }

  #file(name) {
    const file = this.#named.get(name);
    if (!file) throw missing(name);
    return file;
  }

  names() {
    return [...this.#named.keys()];
  }

  length(name) {
    return Math.max(0, this.#file(name).handle.getSize() - BODY);
  }

  make(name) {
    if (this.#named.has(name)) return;
    if (new TextEncoder().encode(name).length > MAX_NAME_BYTES) throw failed("TypeError", "the name is too long");
    const file = this.#free.pop();
    if (!file) throw new FilePoolExhausted("no free file is open");
    try {
      // What another file left there must not become this one's.
      file.handle.truncate(BODY);
      this.#write(file, name);
    } catch (error) {
      this.#free.push(file);
      throw error;
    }
    this.#named.set(name, file);
  }

  read(name, at, out) {
    const { handle } = this.#file(name);
    let read = 0;
    while (read < out.length) {
      const more = handle.read(out.subarray(read), { at: BODY + at + read });
      if (!more) break;
      read += more;
    }
    return read;
  }

  write(name, at, bytes) {
    const { handle } = this.#file(name);
    let written = 0;
    while (written < bytes.length) {
      const more = handle.write(bytes.subarray(written), { at: BODY + at + written });
      if (!more) throw failed("QuotaExceededError", "the storage is full");
      written += more;
    }
  }

  setLength(name, length) {
    this.#file(name).handle.truncate(BODY + length);
  }

  sync(name) {
    this.#file(name).handle.flush();
  }

  remove(name) {
    const file = this.#file(name);
    this.#write(file, "");
    this.#named.delete(name);
    this.#free.push(file);
    file.handle.truncate(BODY);
  }

  rename(from, to) {
    const file = this.#file(from);
    if (from === to) return;
    // From this write on the name is this file's, since its number is larger than the other's.
    this.#write(file, to);
    const other = this.#named.get(to);
    this.#named.delete(from);
    this.#named.set(to, file);
    if (!other) return;
    this.#write(other, "");
    this.#free.push(other);
    other.handle.truncate(BODY);
  }

  close() {
    for (const { handle } of [...this.#named.values(), ...this.#free]) handle.close();
    this.#named.clear();
    this.#free = [];
  }
}

function readHead(handle, side) {
  const bytes = new Uint8Array(HEAD + MAX_NAME_BYTES);
  const read = handle.read(bytes, { at: side * APART });
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(16, true);
  if (read < HEAD || view.getUint32(0, true) !== MAGIC || length > MAX_NAME_BYTES || HEAD + length > read) return {};
  const rest = bytes.subarray(8, HEAD + length);
  if (crc32(rest) !== view.getUint32(4, true)) return {};
  return { number: view.getFloat64(8, true), name: new TextDecoder().decode(bytes.subarray(HEAD, HEAD + length)) };
}

function writeHead(handle, side, number, name) {
  const text = new TextEncoder().encode(name);
  const bytes = new Uint8Array(HEAD + text.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setFloat64(8, number, true);
  view.setUint32(16, text.length, true);
  bytes.set(text, HEAD);
  view.setUint32(4, crc32(bytes.subarray(8)), true);
  const written = handle.write(bytes, { at: side * APART });
  if (written < bytes.length) throw failed("QuotaExceededError", "the storage is full");
}

/** CRC-32 as in PNG: against writes that were torn, not against anybody. */
export function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (0xedb8_8320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
