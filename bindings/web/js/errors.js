// Errors, by whose fault they are. The names are those of the other languages.

/** Something went wrong. `code` is a stable name for programs, `fix` says what to do, `fault` says whose it was. */
export class SottoError extends Error {
  constructor(message, { code = "", fix = "", fault = "machine", cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.fix = fix;
    this.fault = fault;
  }

  toString() {
    return this.fix ? `${this.name}: ${this.message}\n  fix: ${this.fix}` : `${this.name}: ${this.message}`;
  }
}

/** The table cannot be served with its parameters: they are not secure, or fail too often. */
export class ParamsError extends SottoError {}
/** The call was wrong: its message says what to correct. */
export class MisuseError extends SottoError {}
/** The table has no row of this number. */
export class RowError extends MisuseError {}
/** The server sent what the publisher did not sign, or no valid answer. */
export class PeerError extends SottoError {}
/** The server cannot be reached, or is busy, or is changing its table. Trying again later may help. */
export class NetworkError extends SottoError {}
/** No complete response came within the time limit. */
export class TimeoutError extends NetworkError {}
/** The browser's storage failed, or files in it are damaged. */
export class StorageError extends SottoError {}
/** The answer could not be read. Do not repeat the lookup at once, and do not report it. */
export class UnreadableError extends SottoError {}

const CLASSES = {
  misuse: MisuseError,
  row: RowError,
  params: ParamsError,
  peer: PeerError,
  network: NetworkError,
  timeout: TimeoutError,
  storage: StorageError,
  unreadable: UnreadableError,
  machine: SottoError,
};

/** The error of a fault: `{kind, code, message, fix}`, as the worker and the client below it say. */
export function raised({ kind, code, message, fix }) {
  return new (CLASSES[kind] ?? SottoError)(message, { code, fix, fault: kind });
}

/** A fault of this kind. */
export const fault = (kind, code, message, fix) => ({ kind, code, message, fix });
