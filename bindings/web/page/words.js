// What is said of bytes, times, tables and values.

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit += 1) n /= 1024;
  return `${number.format(n)} ${units[unit]}`;
}

export function time(seconds) {
  if (seconds < 0.001) return `${number.format(seconds * 1e6)} µs`;
  return seconds < 1 ? `${number.format(seconds * 1e3)} ms` : `${number.format(seconds)} s`;
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));

/** How a table is asked: a label, a hint, and an example. */
export function asking({ kind, rows, key_form: form }) {
  if (kind === "row") return { label: "Row", hint: `A row's number, from 0 to ${count(rows - 1)}.`, example: "7" };
  const of = {
    ip: ["Address", "8.8.8.8"],
    ipv4: ["IPv4 address", "8.8.8.8"],
    domain: ["Domain", "example.org"],
    email: ["E-mail address", "ann@example.com"],
    sha1: ["SHA-1 hash", "40 hexadecimal digits"],
    sha256: ["SHA-256 hash", "64 hexadecimal digits"],
    bytes: ["Key, in hexadecimal", "00ff"],
    u32: ["Number", "4711"],
    u64: ["Number", "4711"],
  };
  const [label, example] = of[form] ?? ["Key", ""];
  const hint = kind === "range" ? "Every one has a row, which it may share with others near it." : "Whether the table has it or not, the server sees no difference.";
  return { label, hint, example };
}

/** A value as people read it, and whether it is long. */
export function value(bytes, kind) {
  if (kind === "unsigned" && bytes.length <= 8) {
    return { text: count(bytes.reduceRight((all, byte) => all * 256n + BigInt(byte), 0n)), long: false };
  }
  if (kind === "text") {
    const text = new TextDecoder().decode(bytes).replace(/\0+$/, "");
    return { text, long: text.length > 60 };
  }
  return { text: hex(bytes).join(" "), long: true };
}
