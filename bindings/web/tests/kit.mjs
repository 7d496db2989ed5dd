// What the tests share: tables, servers of the command, a server of the page that can do wrong, and a browser.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
/** The package: this one, or as it was installed somewhere. */
const packaged = process.env.SOTTO_WEB_PACKAGE ?? join(here, "..");
const sotto = process.env.SOTTO ?? "sotto";
const scratch = mkdtempSync(join(tmpdir(), "sotto-web-"));
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
});

/** Encodes rows of one width, row i being `row(i)`, or a CSV of words. Gives the table's folder and key. */
export function encode(name, options) {
  const out = join(scratch, name);
  const data = join(scratch, name + (options.words ? ".csv" : ".bin"));
  const columns = options.words ? ["--key", "word", "--value", "meaning"] : ["--row-bytes", String(options.width)];
  writeFileSync(data, options.words ? csv(options.words) : Buffer.concat(options.rows));
  const args = ["encode", data, ...columns, "--scheme", options.scheme, "--out", out, ...(options.more ?? [])];
  const said = execFileSync(sotto, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  return { name, folder: out, pin: /sotto-p[kq]:[0-9a-f]+/.exec(said)[0] };
}

const csv = (words) => ["word,meaning", ...words.map(([word, meaning]) => `${word},${meaning}`)].join("\n") + "\n";

/** Rows of 8 bytes: the square of each number. */
export const squares = (count) =>
  Array.from({ length: count }, (_, i) => {
    const row = Buffer.alloc(8);
    row.writeBigUInt64LE(BigInt(i) * BigInt(i));
    return row;
  });

/** A server of the command, at a free port or at that of one before. */
export async function serve(tables, more = [], listen = "127.0.0.1:0") {
  const folders = tables.map(({ folder }) => folder);
  const free = ["--listen", listen, "--admin-listen", "127.0.0.1:0"];
  const child = spawn(sotto, ["serve", ...folders, ...free, ...more, "--log", "error"], { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  let said = "";
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => {
      said += text;
      const found = /serving on (http:\S+?),/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on("exit", (code) => reject(new Error(`sotto serve ended with ${code}: ${said}`)));
  });
  const stop = async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return { url, stop };
}

/** What the command gets for a key; `null` if the table does not have it. */
export function got(server, table, key) {
  const args = ["get", "--json", "--server", server.url, "--table", table, `--key=${key}`];
  const places = { HOME: scratch, XDG_CACHE_HOME: join(scratch, "cache"), XDG_STATE_HOME: join(scratch, "state") };
  const options = { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...places } };
  return JSON.parse(execFileSync(sotto, args, options)).answers[0].value;
}

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const BLANK = "<!doctype html><meta charset=utf-8><title>test</title>";

/** The page's own server: the package, and `/N/v1/...` passed on to the N-th server. `faults` keep or change what passes. */
export class Page {
  log = [];
  /** The last signed catalog of each table. */
  catalogs = new Map();
  faults = [];
  servers;
  headers = {};

  /** With `leave`, pages of that origin may ask here. */
  static async start(servers, leave) {
    const page = new Page();
    page.servers = servers;
    if (leave) page.leave = { "access-control-allow-origin": leave, "access-control-allow-headers": "content-type, if-none-match, range" };
    page.server = createServer((request, response) => page.answer(request, response));
    page.server.listen(0, "127.0.0.1");
    await once(page.server, "listening");
    page.origin = `http://localhost:${page.server.address().port}`;
    return page;
  }

  async answer(request, response) {
    const url = new URL(request.url, this.origin);
    const passed = /^\/(\d)(\/v1\/.*)$/.exec(url.pathname);
    if (request.method === "OPTIONS") return void response.writeHead(204, this.leave).end();
    if (passed) return this.pass(request, response, Number(passed[1]), passed[2] + url.search);
    if (url.pathname === "/") {
      response.writeHead(200, { "content-type": "text/html", ...this.headers }).end(BLANK);
      return;
    }
    const folder = url.pathname.startsWith("/tests/") ? join(here, "..") : packaged;
    const file = normalize(join(folder, url.pathname));
    if (!/\/(js|pkg|tests)\//.test(file) || !file.startsWith(folder)) return void response.writeHead(404).end();
    try {
      const content = readFileSync(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  }

  async pass(request, response, server, path) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const seen = { server, method: request.method, path, range: request.headers.range, body: Buffer.concat(chunks) };
    this.log.push(seen);
    const fault = this.faults.find((fault) => fault.on(seen));
    if (fault?.stall) return;
    if (fault?.cut) return void request.socket.destroy();
    // What the browser has already must not come in the place of what is changed here.
    if (fault?.change) delete request.headers["if-none-match"];
    const on = forward(this.servers[server].url + path, { method: request.method, headers: request.headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => {
        let body = Buffer.concat(parts);
        const table = /^\/v1\/tables\/([^/?]+)$/.exec(path);
        if (table && answer.statusCode === 200) this.catalogs.set(table[1], body.toString());
        if (fault?.change) body = fault.change(body, seen);
        const headers = { ...answer.headers, ...this.leave, "content-length": body.length };
        response.writeHead(answer.statusCode, headers).end(body);
      });
    });
    on.on("error", () => request.socket.destroy());
    on.end(seen.body);
  }

  /** What was sent to `/ask` so far. */
  asks() {
    return this.log.filter(({ path }) => path.endsWith("/ask"));
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** A browser with a folder of its own, where storage is as users have it. */
export async function browser(more = []) {
  const folder = mkdtempSync(join(scratch, "profile-"));
  return chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [...FLAGS, ...more],
  });
}

/** A tab on the page, in which `lookups.js` has the names that tests use. */
export async function tab(context, page) {
  const opened = await context.newPage();
  opened.on("pageerror", (error) => console.error("page:", error.message));
  await opened.goto(page.origin);
  await opened.addScriptTag({ type: "module", url: "/tests/lookups.js" });
  await opened.waitForFunction(() => globalThis.lookups);
  return opened;
}

/** Calls one of `lookups.js`. */
export const call = (tab, name, ...args) => tab.evaluate(([name, args]) => globalThis.lookups[name](...args), [name, args]);
