// How long a first lookup takes in a browser that was never there: from `connect` to the row, on the demo's table, over loopback.
//
//     SOTTO=target/release/sotto node bindings/web/bench/cold.mjs

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Page, browser, call, serve, tab } from "../tests/kit.mjs";

const root = new URL("../../..", import.meta.url).pathname;
const folder = join(mkdtempSync(join(tmpdir(), "sotto-cold-")), "ip-country");
const data = ["data/ip-country/asn-country-ipv4-num.csv.gz", "--key-type", "ipv4", "--start", "1", "--end", "2", "--value", "3"];
execFileSync(process.env.SOTTO ?? "sotto", ["encode", ...data, "--block", "65536", "--scheme", "simplepir", "--out", folder], { cwd: root });
const server = await serve([{ folder }]);
const page = await Page.start([server]);

for (let round = 0; round < 5; round += 1) {
  const context = await browser();
  const open = await tab(context, page);
  const times = {};
  const timed = async (name, work) => {
    const start = performance.now();
    const came = await work();
    if (came?.error) throw new Error(JSON.stringify(came));
    times[name] = Math.round(performance.now() - start);
    return came;
  };
  const word = () => call(open, "word", "ip-country", "8.8.8.8");
  await timed("open", () => call(open, "connect", "ip-country"));
  const country = await timed("first", word);
  await timed("next", word);
  const { setup_down, up, down } = await call(open, "last", "ip-country");
  console.log(JSON.stringify({ country, cold_ms: times.open + times.first, ...times, setup_down, up, down }));
  await context.close();
}
page.close();
await server.stop();
process.exit(0);
