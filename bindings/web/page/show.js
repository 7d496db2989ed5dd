// What an answer's figures look like.

import { bytes, count, hex, time } from "./words.js";

const SHOWN = 256;
const at = (id) => document.getElementById(id);

/** A picture of bytes: a dot for each, the darker the larger, twice as wide as high. */
function draw(canvas, data) {
  const columns = Math.max(2, Math.ceil(Math.sqrt(data.length * 2)));
  const rows = Math.max(1, Math.ceil(columns / 2));
  canvas.width = columns;
  canvas.height = rows;
  const style = getComputedStyle(canvas);
  const [from, to] = [style.getPropertyValue("--soft"), style.getPropertyValue("--mark")].map(color);
  const image = new ImageData(columns, rows);
  data.forEach((byte, i) => {
    for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = from[c] + ((to[c] - from[c]) * byte) / 255;
    image.data[4 * i + 3] = 255;
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const color = (text) => [1, 3, 5].map((i) => Number.parseInt(text.trim().slice(i, i + 2), 16));

/** The bytes that left, beside those of the lookup before. */
export function queries(now, before) {
  const name = ({ asked, prefix, up }) => `${prefix.length < up ? `the first ${bytes(prefix.length)} of ` : ""}${bytes(up)}, for ${asked}`;
  draw(at("query"), now.prefix);
  at("query").setAttribute("aria-label", `The ${bytes(now.prefix.length)} of the query as dots, which look random`);
  at("query-caption").textContent = `This lookup: ${name(now)}`;
  at("earlier").hidden = !before;
  if (before) {
    draw(at("before"), before.prefix);
    at("before").setAttribute("aria-label", `The ${bytes(before.prefix.length)} of the lookup before, as dots, which look random too`);
    at("before-caption").textContent = `The one before: ${name(before)}`;
  }
  at("differ").textContent = difference(now, before);
  const lines = [];
  const head = hex(now.prefix.subarray(0, SHOWN));
  for (let i = 0; i < head.length; i += 16) lines.push(`${i.toString(16).padStart(4, "0")}  ${head.slice(i, i + 16).join(" ")}`);
  at("hex").textContent = lines.join("\n") + (now.prefix.length > SHOWN ? `\n… and ${count(now.prefix.length - SHOWN)} more` : "");
}

function difference(now, before) {
  if (!before) return "A dot for each byte. Look the same up again: other bytes will leave.";
  if (before.prefix.length !== now.prefix.length) return "Two tables, or two settings of one: their queries have other sizes.";
  let same = 0;
  for (let i = 0; i < now.prefix.length; i += 1) same += now.prefix[i] === before.prefix[i];
  const share = ((1 - same / now.prefix.length) * 100).toFixed(1);
  const question = now.asked === before.asked ? "The question was the same" : "The question was another one";
  return `${question}, and ${share} % of the bytes differ. Anyone who sees both cannot tell whether they are for one row or for two.`;
}

/** Lines of a name, a figure and a bar. */
function bars(list, lines) {
  const most = Math.max(...lines.map(({ amount }) => amount), Number.MIN_VALUE);
  list.replaceChildren();
  for (const { name, amount, said, other } of lines) {
    const [term, figure, bar] = [document.createElement("dt"), document.createElement("dd"), document.createElement("dd")];
    term.textContent = name;
    figure.textContent = said;
    bar.className = other ? "bar other" : "bar";
    bar.setAttribute("aria-hidden", "true");
    bar.style.setProperty("--share", `${(100 * amount) / most}%`);
    list.append(term, figure, bar);
  }
}

/** What traveled, beside downloading the whole table. */
export function cost(cost, about) {
  const size = (name, amount, other) => ({ name, amount, said: bytes(amount), other });
  const whole = about.rows * about.row_bytes;
  const once = cost.setup_up + cost.setup_down;
  const left = whole - once;
  bars(at("bytes"), [
    size("this lookup, up", cost.up),
    size("this lookup, down", cost.down),
    ...(once > 0 ? [size("fetched at opening, this time", once)] : []),
    size("downloading the whole table", whole, true),
  ]);
  const each = cost.up + cost.down;
  at("worth").textContent =
    left <= each
      ? "A table as small as this is better downloaded: then there is nothing left to learn."
      : `With what was fetched at opening, ${count(Math.floor(left / each))} lookups like this one move as many bytes as a download.`;
}

/** What took how long. */
export function times(cost) {
  const line = (name, amount, other) => ({ name, amount, said: time(amount), other });
  bars(at("times"), [
    line("writing the query, in this browser", cost.query),
    line("on the way, and the server's work", cost.round_trip),
    ...(cost.server === null ? [] : [line("of this the server's work", cost.server, true)]),
    line("reading the answer, in this browser", cost.recover),
  ]);
}
