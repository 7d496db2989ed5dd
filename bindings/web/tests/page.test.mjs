// The page, as `sotto serve --static-dir` serves it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { assemble } from "../page/assemble.mjs";
import { browser, encode, serve, squares } from "./kit.mjs";

const folder = mkdtempSync(join(tmpdir(), "sotto-page-"));
const options = ["--static-dir", folder];
const hosts = Array.from({ length: 2000 }, (_, i) => [`host${i}.example`, `place ${i}`]);
let tables, server, context, page;

before(async () => {
  assemble(folder);
  tables = [
    encode("hosts", { words: hosts, scheme: "simplepir", more: ["--key-form", "domain", "--row-proofs"] }),
    encode("squares", { rows: squares(4096), width: 8, scheme: "fspiral" }),
    encode("several", { rows: squares(256), width: 8, scheme: "simplepir", more: ["--batch", "4"] }),
  ];
  server = await serve(tables, options);
});

beforeEach(async () => {
  context = await browser();
  page = await opened();
});

afterEach(() => context?.close());

after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A tab, which writes down what goes wrong in it and what it loads. */
async function opened() {
  const tab = await context.newPage();
  tab.wrong = [];
  tab.asked = [];
  tab.on("pageerror", (error) => tab.wrong.push(error.message));
  tab.on("console", (message) => message.type() === "error" && tab.wrong.push(message.text()));
  tab.on("request", (request) => tab.asked.push(request.url()));
  await tab.goto(server.url);
  await ready(tab);
  return tab;
}

const ready = (tab) => tab.waitForSelector("#wanted:enabled", { timeout: 60_000 });

/** Looks something up; gives what is shown. */
async function lookup(tab, text) {
  await tab.fill("#wanted", text);
  await tab.click("#ask");
  await tab.waitForFunction((text) => document.getElementById("asked").textContent === text, text);
  await ready(tab);
  return tab.textContent("#value");
}

test("a lookup shows its answer, what left, what was seen and what it cost", async () => {
  assert.equal(await lookup(page, "host1234.example"), "place 1234");
  assert.match(await page.textContent("#leakage"), /^The server saw one request for one row of hosts, .*did not see which/);
  assert.match(await page.textContent("#query-caption"), /^This lookup: .*B, for host1234\.example$/);
  assert.match(await page.textContent("#hex"), /^0000 {2}([0-9a-f]{2} ){15}/);
  const terms = await page.$$eval("#bytes dt", (all) => all.map((one) => one.textContent));
  assert.deepEqual(terms, ["this lookup, up", "this lookup, down", "fetched at opening, this time", "downloading the whole table"]);
  assert.equal((await page.$$("#times dt")).length, 4);

  // The same again: other bytes, of which nothing tells that it is the same.
  const first = await page.textContent("#hex");
  assert.equal(await lookup(page, "host1234.example"), "place 1234");
  assert.notEqual(await page.textContent("#hex"), first);
  assert.match(await page.textContent("#differ"), /^The question was the same, and \d+\.\d % of the bytes differ/);
  assert.equal(await lookup(page, "nobody.example"), "not in the table");

  // A table of another family, asked by row, and a stack, of whose own tables nothing is offered.
  const offered = await page.$$eval("#table option", (all) => all.map((one) => one.textContent));
  assert.deepEqual(offered, ["hosts", "squares", "several"]);
  await page.selectOption("#table", "squares");
  await ready(page);
  assert.equal(await page.textContent("#wanted-label"), "Row");
  assert.equal(await lookup(page, "16"), "00 01 00 00 00 00 00 00");
  await page.selectOption("#table", "several");
  await ready(page);
  assert.equal(await lookup(page, "3"), "09 00 00 00 00 00 00 00");
  assert.match(await page.textContent("#leakage"), /every table of the stack/);
  await page.fill("#wanted", "99999");
  await page.click("#ask");
  await page.waitForSelector("#fault:not([hidden])");
  assert.ok(await page.isHidden("#answer"), "an old answer does not stand beside a fault");
  assert.deepEqual(page.wrong, []);
  assert.deepEqual(page.asked.filter((url) => !url.startsWith(server.url)), [], "nothing comes from anywhere else");
});

test("what was fetched once is there after a reload", async () => {
  await lookup(page, "host7.example");
  const once = () => page.$$eval("#bytes dd:not(.bar)", (all) => all[2].textContent);
  const first = await once();
  await page.reload();
  await ready(page);
  assert.equal(await lookup(page, "host7.example"), "place 7");
  assert.notEqual(await once(), first, "the hint came from this browser's storage");
});

test("a server that is gone is said, and asked again when it is back", async () => {
  await lookup(page, "host1.example");
  await server.stop();
  await page.fill("#wanted", "host2.example");
  await page.click("#ask");
  await page.waitForSelector("#fault:not([hidden])", { timeout: 60_000 });
  assert.match(await page.textContent("#fault-fix"), /^What to do: ./);
  server = await serve(tables, options, server.url.replace("http://", ""));
  await ready(page);
  assert.equal(await lookup(page, "host2.example"), "place 2");
  assert.ok(await page.isHidden("#fault"));
});

test("another publisher's table is refused", async () => {
  await page.click("summary");
  await page.fill("#pin", tables[1].pin);
  await page.press("#pin", "Tab");
  await page.waitForSelector("#fault:not([hidden])");
  assert.ok(await page.isDisabled("#wanted"));
  await page.fill("#pin", tables[0].pin);
  await page.press("#pin", "Tab");
  await ready(page);
  assert.ok(await page.isHidden("#fault"));
  assert.equal(await lookup(page, "host3.example"), "place 3");
});

test("two tabs ask one table in turn", async () => {
  const other = await opened();
  for (let i = 0; i < 3; i += 1) {
    assert.equal(await lookup(page, `host${i}.example`), `place ${i}`);
    assert.equal(await lookup(other, `host${i + 10}.example`), `place ${i + 10}`);
  }
  assert.deepEqual([...page.wrong, ...other.wrong], []);
});

test("a keyboard is enough, everything has a name, and a phone is wide enough", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate(() => document.activeElement.blur());
  const order = [];
  for (let i = 0; i < 4; i += 1) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
  }
  assert.deepEqual(order, ["table", "wanted", "ask", "SUMMARY"]);
  await page.focus("#wanted");
  await page.keyboard.type("host5.example");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("value").textContent === "place 5");
  await ready(page);
  const nameless = await page.$$eval("input, select, button, output, canvas, section, form, summary, pre", (all) =>
    all
      .filter((one) => one.checkVisibility())
      .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
      .map((one) => one.id || one.tagName),
  );
  assert.deepEqual(nameless, []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  const small = await page.$$eval("input, select, button", (all) =>
    all.filter((one) => one.checkVisibility() && one.offsetHeight < 44).map((one) => one.id),
  );
  assert.deepEqual(small, [], "a finger finds them");
});

for (const colorScheme of ["light", "dark"]) {
  test(`text stands out from its ground in the ${colorScheme}`, async () => {
    await page.emulateMedia({ colorScheme });
    await lookup(page, "host5.example");
    assert.deepEqual(await page.evaluate(faint), []);
  });
}

/** Texts whose contrast is below 4.5, by the formula of WCAG 2. */
function faint() {
  const parts = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const color = parts(getComputedStyle(one).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && !one.disabled && hasText(one));
  return shown.flatMap((one) => {
    const [a, b] = [parts(getComputedStyle(one).color), ground(one)].map(light).sort((a, b) => b - a);
    const contrast = (a + 0.05) / (b + 0.05);
    return contrast < 4.5 ? [`${one.id || one.tagName}: ${contrast.toFixed(1)}`] : [];
  });
}
