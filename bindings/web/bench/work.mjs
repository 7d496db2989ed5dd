// What a client does for a lookup in a browser, and natively: making a query and reading its answer, medians of thirty, with the
// same servers and tables, one after the other. Words are the schemes that are wanted, or all.
//
//     cargo build --release -p sotto-cli -p sotto-client --bins --example work
//     SOTTO=target/release/sotto WORK=target/release/examples/work node bindings/web/bench/work.mjs simplepir ypir

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Page, browser, call, encode, serve, tab } from "../tests/kit.mjs";

/** Schemes, rows and bytes of a row: those of `make simd128-clients`, and one for each other family. */
const TABLES = [
  ["simplepir", 1 << 16, 256],
  ["ypir", 1 << 16, 256],
  ["ypir-sp", 1 << 11, 8192],
  ["fspiral", 1 << 14, 256],
  ["bgvpir", 1 << 14, 256],
  ["dpf", 1 << 16, 32],
  ["s3pir", 1 << 16, 32],
];
const LOOKUPS = [5, 30];
const work = process.env.WORK ?? "target/debug/examples/work";

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

async function inBrowser(page, name, rows, servers) {
  const context = await browser();
  const open = await tab(context, page);
  const about = await call(open, "connect", name, { state: "memory" }, servers);
  if (about.error) throw new Error(about.message);
  const [query, recover] = [[], []];
  for (let lookup = 0; lookup < LOOKUPS[0] + LOOKUPS[1]; lookup += 1) {
    const { last, message } = await call(open, "get", name, (lookup * 7919) % rows);
    if (message) throw new Error(message);
    if (lookup < LOOKUPS[0]) continue;
    query.push(last.query * 1000);
    recover.push(last.recover * 1000);
  }
  await context.close();
  return [median(query), median(recover)];
}

const natively = (name, rows, urls) =>
  execFileSync(work, [name, String(rows), ...urls], { encoding: "utf8" }).trim().split(" ").map(Number);

console.log("| scheme | query, browser | natively | | recover, browser | natively | | both |\n|---|---|---|---|---|---|---|---|");
const wanted = process.argv.slice(2);
for (const [scheme, rows, width] of TABLES) {
  if (wanted.length && !wanted.includes(scheme)) continue;
  const table = encode(scheme, { rows: [randomBytes(rows * width)], width, scheme });
  const servers = [await serve([table])];
  if (scheme === "dpf") servers.push(await serve([table], ["--role", "1"]));
  const page = await Page.start(servers);
  const here = await inBrowser(page, scheme, rows, [...servers.keys()]);
  const there = natively(scheme, rows, servers.map(({ url }) => url));
  const beside = [0, 1].map((step) => {
    const ratio = (here[step] / there[step]).toFixed(1);
    return `${here[step].toFixed(2)} ms | ${there[step].toFixed(2)} ms | ${ratio}`;
  });
  const both = (here[0] + here[1]) / (there[0] + there[1]);
  console.log(`| \`${scheme}\` | ${beside.join(" | ")} | ${both.toFixed(1)} |`);
  page.close();
  for (const server of servers) await server.stop();
}
process.exit(0);
