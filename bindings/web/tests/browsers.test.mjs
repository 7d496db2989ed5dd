// Browsers that lack something: WebAssembly, workers, randomness. And which build is taken.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Page, browser, call, encode, serve, squares, tab } from "./kit.mjs";

let table, server, page;

before(async () => {
  table = encode("plain", { rows: squares(2048), width: 8, scheme: "simplepir" });
  server = await serve([table]);
  page = await Page.start([server]);
});

after(async () => {
  page?.close();
  await server?.stop();
});

async function inBrowser(flags, work) {
  const context = await browser(flags);
  try {
    await work(await tab(context, page), context);
  } finally {
    await context.close();
  }
}

// Without a compiler at run time there is no WebAssembly, as in browsers that are locked down.
test("WebAssembly is off", () =>
  inBrowser(["--js-flags=--jitless"], async (open) => {
    const off = await call(open, "connect", table.name);
    assert.deepEqual([off.error, off.code, off.fault], ["SottoError", "no-webassembly", "machine"]);
    assert.match(off.fix, /enable it/);
  }));

test("the worker cannot be loaded", () =>
  inBrowser([], async (open) => {
    await open.route("**/js/worker.js", (route) => route.fulfill({ status: 404, body: "" }));
    const failed = await call(open, "connect", table.name);
    assert.deepEqual([failed.code, failed.fault], ["worker-failed", "machine"]);
    assert.match(failed.fix, /own origin/);
    await open.unroute("**/js/worker.js");
    assert.equal((await call(open, "connect", table.name, { pin: table.pin })).trust, "pinned");
  }));

test("the plain build and the one with SIMD give the same rows", async () => {
  const loaded = [];
  for (const hasSimd of [true, false]) {
    await inBrowser([], async (open, context) => {
      if (!hasSimd) await withoutSimd(context);
      context.on("request", (request) => request.url().endsWith(".wasm") && loaded.push(/(plain|simd)/.exec(request.url())[0]));
      await call(open, "connect", table.name, { pin: table.pin });
      assert.deepEqual((await call(open, "get", table.name, 45)).row, [...squares(46)[45]]);
    });
  }
  assert.deepEqual(loaded, ["simd", "plain"]);
});

/** No flag turns it off any more: the worker is told that its test module is none. */
const withoutSimd = (context) =>
  context.route("**/js/families.js", async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replace("WebAssembly.validate(new Uint8Array(SIMD))", "false") });
  });

test("secrets are drawn from the browser's generator, and from nothing else", () =>
  inBrowser([], async (open, context) => {
    const counted = async (body) => {
      await context.route("**/js/worker.js", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: `${body}\n${await response.text()}` });
      });
    };
    // Each query takes fresh bytes. With the same ones twice, two queries would be alike.
    await counted(`let drawn = 0; const draw = crypto.getRandomValues.bind(crypto);
      Crypto.prototype.getRandomValues = (array) => {
        drawn += array.byteLength;
        postMessage({ event: "drawn " + drawn });
        return draw(array);
      };`);
    await call(open, "connect", table.name, { pin: table.pin, keep: false });
    const drawn = async () => {
      const told = await call(open, "told");
      return told.filter((told) => told.startsWith("drawn ")).map((told) => Number(told.slice(6)));
    };
    const opening = await drawn();
    page.log.length = 0;
    await call(open, "get", table.name, 1);
    await call(open, "get", table.name, 1);
    const asked = await drawn();
    assert.ok(opening.length > 0 && asked.length >= 2 && asked.at(-1) - opening.at(-1) >= 64, `${opening} ${asked}`);
    const [one, two] = page.asks();
    assert.notDeepEqual(one.body.subarray(64), two.body.subarray(64));
    await context.unroute("**/js/worker.js");
    await counted(`Crypto.prototype.getRandomValues = () => { throw new Error("no entropy"); };`);
    const none = await call(open, "connect", table.name, { pin: table.pin, keep: false });
    assert.deepEqual([none.code, none.fault], ["no-entropy", "machine"]);
    assert.match(none.fix, /random/);
  }));

test("a client that stops for good is an error, and the next call starts another", () =>
  inBrowser([], async (open, context) => {
    await call(open, "connect", table.name, { pin: table.pin });
    // The client is made to run out of its memory, as a table that is too large for a browser would do.
    await context.route("**/pkg/**/sotto.js", async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      await route.fulfill({ response, body: text + TRAP });
    });
    const trapped = await call(open, "connect", table.name, { pin: table.pin });
    assert.deepEqual([trapped.error, trapped.code], ["SottoError", "bug"], JSON.stringify(trapped));
    await context.unroute("**/pkg/**/sotto.js");
    assert.equal((await call(open, "connect", table.name, { pin: table.pin })).trust, "pinned");
    assert.deepEqual((await call(open, "get", table.name, 3)).row, [9, 0, 0, 0, 0, 0, 0, 0]);
  }));

const TRAP = `
const types = [1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 116, 0, 0];
const unreachable = [10, 5, 1, 3, 0, 0, 11];
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...types, ...unreachable]);
const trap = new WebAssembly.Instance(new WebAssembly.Module(bytes));
Table.open = () => trap.exports.t();
`;
