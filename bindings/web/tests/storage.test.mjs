// What is kept, and what becomes of it: reloads, tabs that share it, storage that is wiped, full, or an old copy.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Page, browser, call, encode, serve, squares, tab } from "./kit.mjs";
import { readsOf, usedTwice } from "./hints.mjs";

const ROWS = 4096;
const row = (i) => [...squares(i + 1)[i]];
let hint, spent, server, page, context, open;

before(async () => {
  hint = encode("hint", { rows: squares(ROWS), width: 8, scheme: "simplepir" });
  spent = encode("spent", { rows: squares(ROWS), width: 8, scheme: "s3pir" });
  server = await serve([hint, spent]);
  page = await Page.start([server]);
});

beforeEach(async () => {
  await context?.close();
  context = await browser();
  open = await tab(context, page);
  page.log.length = 0;
});

after(async () => {
  await context?.close();
  page?.close();
  await server?.stop();
});

const artifacts = () => page.log.filter(({ path }) => path.startsWith("/v1/artifacts/"));
const asked = async (tab, table, ...rows) => {
  for (const wanted of rows) assert.deepEqual((await call(tab, "get", table.name, wanted)).row, row(wanted));
};

test("after a reload the hint comes from storage, and the key is remembered", async () => {
  await call(open, "connect", hint.name, { pin: hint.pin });
  assert.ok(artifacts().length > 0);
  await asked(open, hint, 7);
  await open.close();
  page.log.length = 0;
  open = await tab(context, page);
  const about = await call(open, "connect", hint.name);
  assert.equal(about.trust, "remembered");
  await asked(open, hint, 8);
  assert.equal(artifacts().length, 0);
});

test("a server that comes back finds the table open", async () => {
  await call(open, "connect", hint.name, { pin: hint.pin, maxWait: 1 });
  page.faults.push({ on: () => true, cut: true });
  await open.reload();
  await open.addScriptTag({ type: "module", url: "/tests/lookups.js" });
  await open.waitForFunction(() => globalThis.lookups);
  const gone = await call(open, "connect", hint.name, { maxWait: 1 });
  assert.deepEqual([gone.error, gone.code], ["NetworkError", "no-connection"]);
  page.faults.length = 0;
  await call(open, "connect", hint.name);
  page.log.length = 0;
  await asked(open, hint, 5);
  assert.equal(artifacts().length, 0);
});

test("a state goes on after a reload, and no hint is used twice", async () => {
  const first = await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 1, 2, 2);
  await open.close();
  open = await tab(context, page);
  const streamed = artifacts().length;
  const again = await call(open, "connect", spent.name, { pin: spent.pin });
  assert.equal(artifacts().length, streamed, "the rows are not streamed again");
  assert.equal(again.budget, first.budget - 3);
  await asked(open, spent, 2, 3);
  assert.equal(page.asks().length, 5);
  assert.deepEqual(usedTwice(readsOf(page)), []);
});

test("two tabs take turns, and no hint is used twice", async () => {
  const other = await tab(context, page);
  const both = [open, other];
  await Promise.all(both.map((tab) => call(tab, "connect", spent.name, { pin: spent.pin })));
  await Promise.all(both.map((tab, i) => asked(tab, spent, 10 + i, 20 + i, 30 + i)));
  for (const tab of [...both, ...both]) await asked(tab, spent, 40);
  assert.equal(page.asks().length, 10);
  assert.deepEqual(usedTwice(readsOf(page)), []);
  // One that is closed is no longer waited for.
  await open.close();
  await asked(other, spent, 50);
});

test("storage that was wiped is filled again", async () => {
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 1, 2);
  await open.close();
  open = await tab(context, page);
  await call(open, "wipe");
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 1, 2);
  assert.deepEqual(usedTwice(readsOf(page)), []);
});

test("an old copy of a state is noticed by its rollback counter", async () => {
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 1);
  await call(open, "close", spent.name);
  await call(open, "copy", "/files/");
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 2, 3, 4);
  await call(open, "close", spent.name);
  await call(open, "restore");
  await call(open, "told");
  await call(open, "connect", spent.name, { pin: spent.pin });
  const told = await call(open, "told");
  assert.ok(told.some((event) => /discarded .* old copy/.test(event)), JSON.stringify(told));
  await asked(open, spent, 5, 6);
  assert.deepEqual(usedTwice(readsOf(page)), []);
});

test("an old copy with its rollback counter is not noticed, and this test would see it", async () => {
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 1);
  await call(open, "close", spent.name);
  await call(open, "copy", "/");
  const ask = async () => {
    await call(open, "connect", spent.name, { pin: spent.pin });
    // Which of the hints with a row is taken is drawn by lot: some are drawn by both.
    await asked(open, spent, ...Array(16).fill(2));
    await call(open, "close", spent.name);
  };
  await ask();
  await call(open, "restore");
  await ask();
  assert.ok(usedTwice(readsOf(page)).length > 0);
});

test("without a place a scheme with hints says so, and may have them in memory", async () => {
  const needed = await call(open, "connect", spent.name, { pin: spent.pin, keep: false });
  assert.deepEqual([needed.error, needed.code], ["StorageError", "state-needed"]);
  assert.match(needed.fix, /state: 'memory'/);
  await call(open, "connect", spent.name, { pin: spent.pin, keep: false, state: "memory" });
  await asked(open, spent, 1, 2);
  assert.equal(await call(open, "files"), 0);
});

test("where storage is full, a scheme without a state goes on, and one with it says so", async () => {
  const session = await context.newCDPSession(open);
  const full = (quotaSize) => session.send("Storage.overrideQuotaForOrigin", { origin: page.origin, quotaSize });
  await full(40_000);
  await call(open, "connect", hint.name, { pin: hint.pin });
  const told = await call(open, "told");
  assert.ok(told.some((event) => event.startsWith("nothing is stored")), JSON.stringify(told));
  await asked(open, hint, 7);
  const refused = await call(open, "connect", spent.name, { pin: spent.pin });
  assert.equal(refused.error, "StorageError", JSON.stringify(refused));
  assert.match(refused.fix, /space|room/);
  assert.equal(page.asks().length, 1);
  await full(undefined);
  await call(open, "connect", spent.name, { pin: spent.pin });
  await asked(open, spent, 9);
});
