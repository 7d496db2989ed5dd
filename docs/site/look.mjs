// Opens the site's main pages in Chromium and in Firefox, as wide as a phone and as a desk, light and dark. Refuses a page that is
// wider than its window, an error on its console, and a request to another host. Screenshots are in target/site-shots.
//
//     node docs/site/look.mjs [PAGE...]

import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
// Of a version that also drives Firefox as Debian has it.
const { chromium, firefox } = createRequire(join(root, "target/site-npm/package.json"))("playwright-core");

const PAGES = {
  start: "index.html",
  guides: "docs/index.html",
  readme: "readme.html",
  schemes: "docs/schemes.html",
  figures: "docs/site/figures.html",
  languages: "docs/reference/languages.html",
  python: "docs/reference/python.html",
  typescript: "docs/reference/typescript.html",
  rust: "docs/reference/rust.html",
  schemas: "docs/reference/schemas/index.html",
  get: "docs/reference/schemas/get.html",
  metrics: "docs/reference/metrics.html",
  errors: "docs/reference/errors.html",
  wire: "spec/wire.html",
  lookups: "try/index.html",
};
const SIZES = { phone: { width: 390, height: 844 }, desk: { width: 1360, height: 850 } };
const BROWSERS = {
  chromium: () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] }),
  // Its colors are a setting of the whole browser.
  firefox: (color) =>
    firefox.launch({
      channel: "moz-firefox",
      executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
      firefoxUserPrefs: { "layout.css.prefers-color-scheme.content-override": color === "dark" ? 0 : 1 },
    }),
};
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };

const site = join(root, "target/site");
const server = createServer((request, response) => {
  const path = join(site, normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname)));
  try {
    const file = statSync(path).isDirectory() ? join(path, "index.html") : path;
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const wanted = process.argv.slice(2);
const pages = Object.entries(PAGES).filter(([name]) => !wanted.length || wanted.includes(name));
const shots = join(root, "target/site-shots");
rmSync(shots, { recursive: true, force: true });
mkdirSync(shots, { recursive: true });

/** What is wider than the window, if the page is; what scrolls by itself is not. */
const WIDER = `(() => {
  const most = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= most) return "";
  const boxes = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > most + 1);
  return boxes.slice(-3).map((one) => one.outerHTML.slice(0, 90)).join(" | ") || "something";
})()`;

/** Plays a recorded lookup, and then the same again. */
async function play(page) {
  for (let i = 0; i < 2; i += 1) {
    await page.locator("#wanted:enabled").fill("8.8.8.8");
    await page.locator("#ask:enabled").click();
    await page.locator("#shown").waitFor();
  }
}

/** The search finds a page, also where no server serves the site. */
async function find(page, address) {
  await page.goto(address);
  await page.locator("input.md-search__input").fill("exit codes");
  await page.locator(".md-search-result__item").first().waitFor();
}

const wrong = [];
let looked = 0;

async function look(page, said, shot, steps) {
  try {
    await steps();
    const wider = await page.evaluate(WIDER);
    if (wider) said.push(`wider than the window: ${wider}`);
  } catch (error) {
    said.push(error.message.split("\n")[0]);
  }
  await page.screenshot({ path: join(shots, `${shot}.png`) });
  said.splice(0).forEach((text) => wrong.push(`${shot}: ${text}`));
  looked += 1;
}

for (const [name, launch] of Object.entries(BROWSERS)) {
  for (const color of ["light", "dark"]) {
    const browser = await launch(color);
    for (const [size, viewport] of Object.entries(SIZES)) {
      const context = await browser.newContext({ viewport, colorScheme: name === "firefox" ? null : color });
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      const said = [];
      page.on("console", (message) => message.type() === "error" && said.push(message.text()));
      page.on("response", (response) => response.status() >= 400 && said.push(`${response.status()} of ${response.url()}`));
      page.on("pageerror", (error) => said.push(error.message));
      page.on("request", (request) => /^https?:/.test(request.url()) && !request.url().startsWith(`${origin}/`) && said.push(`asks ${request.url()}`));
      for (const [place, path] of pages) {
        await look(page, said, `${name}-${size}-${color}-${place}`, async () => {
          await page.goto(`${origin}/${path}`, { waitUntil: "load" });
          if (place === "lookups") await play(page);
        });
      }
      if (size === "desk" && !wanted.length) {
        await look(page, said, `${name}-${size}-${color}-search`, () => find(page, `file://${site}/index.html`));
      }
      await context.close();
    }
    console.log(`${name} ${browser.version()}, ${color}: looked at`);
    await browser.close();
  }
}
server.close();
console.log(`${looked} pages looked at; screenshots are in target/site-shots`);
wrong.forEach((text) => console.error(text));
process.exit(wrong.length ? 1 : 0);
