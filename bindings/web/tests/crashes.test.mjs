// A worker that is killed at any moment: what it had on disk is right, and no hint is used twice.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Page, browser, call, encode, serve, squares, tab } from "./kit.mjs";
import { readsOf, usedTwice } from "./hints.mjs";

const KILLS = Number(process.env.SOTTO_WEB_KILLS ?? 40);
let spent, server, page, context, open;

before(async () => {
  spent = encode("spent", { rows: squares(4096), width: 8, scheme: "s3pir" });
  server = await serve([spent]);
  page = await Page.start([server]);
  context = await browser();
  open = await tab(context, page);
});

after(async () => {
  await context?.close();
  page?.close();
  await server?.stop();
});

test("no hint is used twice, whenever the worker is killed", async () => {
  await call(open, "connect", spent.name, { pin: spent.pin });
  await call(open, "get", spent.name, 0);
  await call(open, "told");
  const timed = async (row) => {
    const start = performance.now();
    assert.ok(Array.isArray((await call(open, "get", spent.name, row)).row));
    return performance.now() - start;
  };
  // Kills are spread over all that an opening with a lookup takes, and over a lookup of a table that is open.
  await call(open, "giveUp", spent.name, 1, 0);
  const [cold, warm] = [await timed(1), await timed(2)];
  let killed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const isCold = kill % 2 === 0;
    if (isCold) await call(open, "giveUp", spent.name, 3, 0);
    else await timed(3);
    const moment = Math.round(((isCold ? cold : warm) * (kill + 1)) / KILLS);
    const came = await call(open, "giveUp", spent.name, 100 + kill, moment);
    killed += came.error === "TimeoutError" ? 1 : 0;
    assert.ok(Array.isArray(came) || came.error === "TimeoutError", JSON.stringify(came));
  }
  assert.ok(killed > KILLS / 3, `${killed} of ${KILLS} were killed`);
  for (const row of [7, 7, 4095]) assert.deepEqual((await call(open, "get", spent.name, row)).row, [...squares(row + 1)[row]]);
  const told = await call(open, "told");
  assert.deepEqual(told.filter((event) => event.includes("was discarded")), []);
  assert.deepEqual(usedTwice(readsOf(page)), []);
  const again = told.filter((event) => event.includes("sent again"));
  assert.ok(again.length > 0, "some were killed between the disk and the answer");
  console.log(`# ${killed} kills, ${page.asks().length} requests, ${again.length} sent again`);
});
