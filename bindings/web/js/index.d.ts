/** Addresses of servers: one, or one for each server of the table's scheme, server 0 first. */
export type Urls = string | URL | readonly (string | URL)[];

/** A row by its number, or the value of a key. */
export type Lookup = number | bigint | { readonly key: string };

export interface Options {
  /**
   * The publisher's key, as `sotto encode` prints it; `sotto-pq:...` demands an ML-DSA-44 signature too. Without it the first key
   * seen is trusted, and no other afterwards.
   */
  pin?: string;
  /** `"memory"` keeps the state of a scheme with hints in the page only. By default it is stored, or the table is refused. */
  state?: "memory";
  /** `false` stores nothing in the browser. */
  keep?: boolean;
  /** Registers keys for this opening alone, where a scheme has keys. */
  freshKeys?: boolean;
  /** Refuses a table whose rows cannot be verified one by one. */
  requireRowProofs?: boolean;
  /** Refuses a table unless its rows are verified and a refused answer tells its server nothing of the row. */
  requireAuthenticatedAnswers?: boolean;
  /** Time limit of a request in seconds, 60 by default. */
  timeout?: number;
  /** Seconds to wait for a busy server, or for another tab, 120 by default. */
  maxWait?: number;
  /** The build to load; without it the catalog is fetched first to find it. */
  family?: "linear" | "silent" | "cube" | "slots" | "hints" | "puncturable" | "split";
  /** Allows queries to several servers without TLS. */
  insecurePlaintext?: boolean;
  /** Receives the progress of an opening. */
  onProgress?: (progress: Progress) => void;
  /** Receives events: waits, updates of the state, missing storage. */
  onEvent?: (text: string) => void;
  /** Aborts the opening. */
  signal?: AbortSignal;
}

export interface Progress {
  readonly stage: "catalog" | "waiting" | "rows" | "hint" | "next-client" | "keys" | "hints" | "row" | "ready";
  readonly done: number;
  /** 0 if unknown. */
  readonly total: number;
}

/** What a table is. */
export interface TableInfo {
  readonly name: string;
  readonly epoch: number;
  readonly rows: number;
  readonly row_bytes: number;
  readonly scheme: string;
  readonly servers: number;
  readonly kind: "row" | "key" | "range";
  readonly key_form: string | null;
  readonly value: "text" | "bytes" | "unsigned";
  readonly signer: string;
  readonly trust: "pinned" | "remembered" | "first-use";
  readonly verified: boolean;
  readonly stack: boolean;
  readonly max_batch: number;
  readonly budget: number | null;
}

/** What a lookup cost. Bytes are those of bodies, to and from all servers; times are seconds. */
export interface LookupCost {
  readonly epoch: number;
  readonly requested: number;
  readonly padded_lookups: number;
  readonly rounds: number;
  readonly up: number;
  readonly down: number;
  readonly setup_up: number;
  readonly setup_down: number;
  readonly total: number;
  readonly query: number;
  readonly round_trip: number;
  readonly recover: number;
  readonly server: number | null;
  readonly queued: number | null;
  readonly rows_opened: number;
  /** What the servers saw, in words. */
  readonly leakage: string;
  /** The first bytes of the first query, as the first server saw them. */
  readonly query_prefix: Uint8Array;
}

export interface CallOptions {
  /** Aborts the call by terminating the worker. The next call starts another. */
  signal?: AbortSignal;
}

/** An open table. Its lookups are made one after the other, in a worker of its own. */
export class Table implements AsyncDisposable {
  private constructor();
  readonly about: TableInfo;
  readonly last: LookupCost | undefined;
  get(row: number | bigint, options?: CallOptions): Promise<Uint8Array>;
  get(lookup: { readonly key: string }, options?: CallOptions): Promise<Uint8Array | null>;
  /** Rounds are padded to a multiple of `batch`, which is 16 by default. */
  getMany(lookups: Iterable<Lookup>, options?: CallOptions & { batch?: number }): Promise<(Uint8Array | null)[]>;
  refresh(options?: CallOptions): Promise<boolean>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export function connect(urls: Urls, table: string, options?: Options): Promise<Table>;

/**
 * Replays a recorded lookup in a worker, to check that this browser computes the recorded bytes. Returns the row, and sends nothing.
 * A vector is one of `spec/vectors`: its text, followed by the bytes of the file beside it, if there is one.
 */
export function selfTest(vector: Uint8Array | ArrayBuffer, options?: CallOptions): Promise<Uint8Array>;

/** Whose fault an error is. */
export type Fault =
  | "misuse" | "row" | "params" | "peer" | "network" | "timeout" | "storage" | "unreadable" | "machine";

export class SottoError extends Error {
  /** A stable name for programs. */
  readonly code: string;
  /** What to do. */
  readonly fix: string;
  readonly fault: Fault;
}
export class ParamsError extends SottoError {}
export class MisuseError extends SottoError {}
export class RowError extends MisuseError {}
export class PeerError extends SottoError {}
export class NetworkError extends SottoError {}
export class TimeoutError extends NetworkError {}
export class StorageError extends SottoError {}
export class UnreadableError extends SottoError {}
