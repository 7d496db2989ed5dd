// The page: which table, what is wanted, and what came of it.

import { connect, host, tables } from "./server.js";
import * as show from "./show.js";
import { asking, bytes, count, value } from "./words.js";

const at = (id) => document.getElementById(id);
const field = { table: at("table"), wanted: at("wanted"), pin: at("pin") };

let table; // The open one.
let turn = 0; // Which choice is the newest: what an older one brings is not shown.
let shown = []; // The last lookup and the one before it, of any table.

function working(text, done, total) {
  at("working").hidden = text === undefined;
  at("doing").textContent = text ?? "";
  if (total > 0) at("progress").value = done / total;
  else at("progress").removeAttribute("value");
}

/** What can be done: `open` a table failed and can be tried again, `ask` it, or nothing for the moment. */
function ready(what) {
  field.wanted.disabled = what !== "ask";
  at("ask").disabled = what === undefined;
  at("ask").textContent = what === "open" ? "Try again" : "Look up";
}

function fault(error) {
  at("answer").hidden = true;
  const said = error.message || String(error);
  at("fault-title").textContent = said.charAt(0).toUpperCase() + said.slice(1);
  at("fault-fix").textContent = error.fix ? `What to do: ${error.fix}.` : "";
  at("fault").hidden = false;
}

const STAGES = {
  catalog: "reading what the table is",
  waiting: "waiting for the server",
  hint: "fetching the table's hint, once",
  hints: "making hints",
  rows: "reading the whole table, once, so that later lookups read little",
  keys: "sending keys, once",
};

function progress({ stage, done, total }) {
  const amount = total > 0 ? `: ${bytes(done)} of ${bytes(total)}` : "";
  working(`${STAGES[stage] ?? "getting ready"}${amount}`, done, total);
}

/** Opens what was chosen. */
async function open() {
  const name = field.table.value;
  const mine = (turn += 1);
  ready();
  at("fault").hidden = true;
  at("about").hidden = true;
  at("signer").hidden = true;
  at("wanted-label").textContent = "Row or key";
  at("wanted-hint").textContent = "\u00a0";
  field.wanted.placeholder = "";
  working("opening the table");
  const old = table;
  table = undefined;
  try {
    await old?.close();
    const pin = field.pin.value.trim() || undefined;
    const onProgress = (step) => mine === turn && progress(step);
    const onEvent = (told) => mine === turn && working(told);
    const opened = await connect(name, { pin, onProgress, onEvent });
    if (mine !== turn) return void opened.close();
    table = opened;
    describe(opened.about);
    ready("ask");
  } catch (error) {
    if (mine !== turn) return;
    fault(error);
    ready("open");
  } finally {
    if (mine === turn) working();
  }
}

function describe(about) {
  const { label, hint, example } = asking(about);
  at("wanted-label").textContent = label;
  at("wanted-hint").textContent = hint;
  field.wanted.placeholder = example;
  field.wanted.inputMode = about.kind === "row" ? "numeric" : "text";
  at("about").hidden = false;
  at("about").textContent =
    `${count(about.rows)} rows of ${bytes(about.row_bytes)}, ${bytes(about.rows * about.row_bytes)} in all, ` +
    `by ${about.scheme}${about.verified ? "; each row is compared with what its publisher signed" : ""}`;
  at("signer").hidden = false;
  at("signer").textContent = `Signed by ${about.signer}`;
}

/** What the person wrote, as the table is asked for it. */
function wanted(text, { kind }) {
  return kind === "row" && /^\d+$/.test(text) ? BigInt(text) : { key: text };
}

async function ask() {
  const text = field.wanted.value.trim();
  const asked = table;
  at("fault").hidden = true;
  ready();
  working("asking");
  let found;
  try {
    found = await asked.get(wanted(text, asked.about));
  } catch (error) {
    if (asked === table) fault(error);
  }
  // Another table may have been chosen meanwhile.
  if (asked !== table) return;
  if (found !== undefined) answered(text, found, asked);
  ready("ask");
  working();
  field.wanted.focus();
}

function answered(text, found, { about, last }) {
  const { text: said, long } = found === null ? { text: "not in the table", long: false } : value(found, about.value);
  at("asked").textContent = text;
  at("value").textContent = said || "(empty)";
  at("value").className = found === null || !said ? "none" : long ? "long" : "";
  at("checked").textContent = about.verified ? "It was compared with what the publisher signed." : "";
  at("answer").hidden = false;
  const now = { asked: text, prefix: last.query_prefix, up: last.up };
  at("shown").hidden = false;
  shown = [now, shown[0]];
  show.queries(...shown);
  at("leakage").textContent = last.leakage;
  show.cost(last, about);
  show.times(last);
}

async function begin() {
  at("host").textContent = host;
  working("looking for tables");
  try {
    const names = await tables();
    if (names.length === 0) throw new Error("the server has no table that one server answers");
    field.table.replaceChildren(...names.map((name) => new Option(name, name)));
    field.table.disabled = false;
    await open();
  } catch (error) {
    working();
    fault(error);
  }
}

field.table.addEventListener("change", open);
field.pin.addEventListener("change", open);
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (table) ask();
  else open();
});
// Colors of pictures are those of the moment.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown[0] && show.queries(...shown));
begin();
