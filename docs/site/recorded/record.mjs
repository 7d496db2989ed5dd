// Records lookups of the page in Chromium, for the page that plays them: with `make page` running,
//
//     node docs/site/recorded/record.mjs http://127.0.0.1:8080

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, "../../../target/site-npm/package.json"))("playwright-core");

const LOOKUPS = {
  "ip-country": ["8.8.8.8", "1.1.1.1", "130.149.7.201"],
  "ip-country-fspiral": ["8.8.8.8", "1.1.1.1", "130.149.7.201"],
  names: ["example.com", "swemaps.com"],
};

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.goto(process.argv[2]);

/** Each lookup twice, so that it can be seen that no query is like the one before. */
const record = async ([name, keys]) => {
  const { connect } = await import("./sotto/js/index.js");
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const table = await connect(location.origin, name, { keep: false });
  const lookups = {};
  for (const key of keys) {
    lookups[key] = [];
    for (let i = 0; i < 2; i += 1) {
      const value = await table.get({ key });
      const { query_prefix, ...last } = table.last;
      lookups[key].push({ value: value && base64(value), last: { ...last, query_prefix: base64(query_prefix) } });
    }
  }
  const { about } = table;
  await table.close();
  return { about: { ...about }, lookups };
};

const tables = [];
for (const wanted of Object.entries(LOOKUPS)) tables.push(await page.evaluate(record, wanted));
const recording = { date: new Date().toISOString().slice(0, 10), browser: `Chromium ${browser.version()}`, tables };
writeFileSync(join(here, "recording.json"), JSON.stringify(recording, null, 1) + "\n");
await browser.close();
