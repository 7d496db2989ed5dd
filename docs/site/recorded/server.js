// Lookups that a browser made before, played in place of a server: `record.mjs` made them.

const recording = await (await fetch("recording.json")).json();
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export const host = "a recorded server";

export const tables = async () => recording.tables.map(({ about }) => about.name);

export async function connect(name) {
  const { about, lookups } = recording.tables.find((table) => table.about.name === name);
  const known = Object.keys(lookups);
  document.getElementById("recorded").replaceChildren(...known.map((key) => new Option(key)));
  const played = {};
  return {
    about,
    async get({ key }) {
      const made = lookups[key];
      if (!made) {
        const fix = `take one of ${known.join(", ")}, or run \`make page\`, which asks for anything`;
        throw Object.assign(new Error(`${key} was not recorded`), { fix });
      }
      played[key] = (played[key] ?? 0) + 1;
      const { value, last } = made[(played[key] - 1) % made.length];
      this.last = { ...last, query_prefix: bytes(last.query_prefix) };
      return value === null ? null : bytes(value);
    },
    async close() {},
  };
}

const said = document.createElement("p");
said.className = "card";
said.textContent =
  `This is a recording: the lookups below were made on ${recording.date} by ${recording.browser} in tables of "sotto serve" on one ` +
  "machine, each of them twice, and are played as they were. Nothing is sent. ";
const back = document.createElement("a");
back.href = "../index.html";
back.textContent = "Back to the documentation";
back.style.color = "inherit";
said.append(back, ".");
document.querySelector("main").prepend(said);
const list = document.createElement("datalist");
list.id = "recorded";
document.getElementById("wanted").setAttribute("list", list.id);
document.getElementById("form").append(list);
