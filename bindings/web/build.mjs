// Builds the package's `pkg`: each family of schemes, plain and with SIMD, and says how large they are.
//
//     node build.mjs [FAMILY...] [--no-check]

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const tools = join(target, "web-tools");

/** As in `js/families.js` and `Cargo.toml`. */
const FAMILIES = ["linear", "silent", "cube", "slots", "hints", "split"];
/**
 * The most bytes of a family, compressed as servers send it: the module and its JavaScript. What was wanted is 350 KiB; the README
 * says what is in the way. Until then nothing may become larger than it is.
 */
const BUDGET = 700 * 1024;

const run = (program, args, env = {}) =>
  execFileSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });

/** The command that fits the crate: `wasm-bindgen` writes down its version, and another one refuses it. */
function bindgen() {
  const [, version] = /^wasm-bindgen = "=([^"]+)"/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
  const program = join(tools, "bin/wasm-bindgen");
  try {
    if (execFileSync(program, ["--version"], { encoding: "utf8" }).includes(version)) return program;
  } catch {
    // It is not there yet.
  }
  console.log(`wasm-bindgen ${version} is built once, into ${tools}`);
  const args = ["install", "--debug", "--root", tools, "wasm-bindgen-cli", "--version", version];
  run("cargo", args, { CARGO_TARGET_DIR: join(tools, "build") });
  return program;
}

function build(family, kind, program) {
  const features = kind === "simd" ? "-C target-feature=+simd128" : "";
  const folder = join(target, "web", kind);
  const cargo = ["build", "--locked", "--profile", "web", "--target", "wasm32-unknown-unknown", "-p", "sotto-web"];
  run("cargo", [...cargo, "--features", family], { CARGO_TARGET_DIR: folder, RUSTFLAGS: features });
  const out = join(here, "pkg", family, kind);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const wasm = join(folder, "wasm32-unknown-unknown/web/sotto_web.wasm");
  run(program, [wasm, "--target", "web", "--no-typescript", "--remove-name-section", "--out-dir", out, "--out-name", "sotto"]);
  const optimised = join(out, "sotto_bg.wasm");
  const allowed = ["--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext", "--enable-mutable-globals",
    "--enable-reference-types", "--enable-multivalue", ...(kind === "simd" ? ["--enable-simd"] : [])];
  run(process.execPath, [join(here, "node_modules/binaryen/bin/wasm-opt"), optimised, "-Oz", ...allowed, "-o", optimised]);
  return sizes(out);
}

function sizes(out) {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 } };
  const files = ["sotto_bg.wasm", "sotto.js"].map((name) => readFileSync(join(out, name)));
  const sum = (all) => all.reduce((sum, bytes) => sum + bytes.length, 0);
  return { raw: sum(files), brotli: sum(files.map((bytes) => brotliCompressSync(bytes, options))) };
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const program = bindgen();
const rows = [];
for (const family of wanted.length ? wanted : FAMILIES) {
  for (const kind of ["plain", "simd"]) rows.push({ family, kind, ...build(family, kind, program) });
}
mkdirSync(join(target, "web"), { recursive: true });
writeFileSync(join(target, "web/sizes.json"), JSON.stringify(rows, null, 2));
for (const { family, kind, raw, brotli } of rows) {
  const [whole, sent] = [raw, brotli].map((bytes) => (bytes / 1024).toFixed(0).padStart(6));
  console.log(`${family.padEnd(8)} ${kind.padEnd(6)} ${whole} KiB, ${sent} KiB brotli`);
}
const large = rows.filter(({ brotli }) => brotli > BUDGET);
if (large.length && !process.argv.includes("--no-check")) {
  console.error(`larger than ${BUDGET / 1024} KiB: ${large.map(({ family, kind }) => `${family} ${kind}`).join(", ")}`);
  process.exit(1);
}
