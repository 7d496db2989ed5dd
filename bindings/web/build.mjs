// Builds the package's `pkg`: each family of schemes, plain and with SIMD, and says how large they are.
//
//     node build.mjs [FAMILY...] [--no-check]

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");

/** As in `js/families.js` and `Cargo.toml`. */
const FAMILIES = ["linear", "silent", "cube", "slots", "hints", "puncturable", "split"];
/** The most bytes of a family, compressed as servers send it: the module and its JavaScript. */
const BUDGET = 350 * 1024;

const run = (program, args, env = {}) =>
  execFileSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });

/** `bindings/bindgen`, of the versions that are in `Cargo.lock`. */
function bindgen() {
  run("cargo", ["build", "--locked", "--quiet", "-p", "bindgen", "--features", "browser"], { CARGO_TARGET_DIR: target });
  return join(target, "debug/bindgen");
}

/** Panics say where they come from. Where that lies on this machine is of no use to anybody, and is in no build; the standard
 * library's sources have the name that they have where they are not installed. */
const NOWHERE = (() => {
  const registries = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/src");
  const kept = existsSync(registries) ? readdirSync(registries).map((name) => join(registries, name)) : [];
  const rustc = (...args) => execFileSync("rustc", args, { cwd: root, encoding: "utf8" }).trim();
  const library = `${rustc("--print", "sysroot")}/lib/rustlib/src/rust=/rustc/${/^commit-hash: (.*)$/m.exec(rustc("-vV"))[1]}`;
  return [...[...kept, root, target].map((folder) => `${folder}/=`), library].map((pair) => `--remap-path-prefix=${pair}`);
})();

/** SHA-512 hashes what is signed, a few kilobytes a lookup: loops instead of unrolled rounds. */
const SMALL = ["--cfg=sha2_backend=\"soft\"", "--cfg=sha2_backend_soft=\"compact\""];

/** Passes of the optimizer. Two that make the module smaller make what is sent larger. */
const PASSES = ["-Oz", "--gufa-optimizing", "-Oz", "--skip-pass=inlining-optimizing", "--skip-pass=local-cse",
  "--strip-producers", "--strip-target-features"];

function build(family, kind, program) {
  const flags = [...NOWHERE, ...SMALL, ...(kind === "simd" ? ["-Ctarget-feature=+simd128"] : [])].join("\x1f");
  const folder = join(target, "web", kind);
  const cargo = ["build", "--locked", "--profile", "web", "--target", "wasm32-unknown-unknown", "-p", "sotto-web"];
  run("cargo", [...cargo, "--features", family], { CARGO_TARGET_DIR: folder, CARGO_ENCODED_RUSTFLAGS: flags });
  const out = join(here, "pkg", family, kind);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const wasm = join(folder, "wasm32-unknown-unknown/web/sotto_web.wasm");
  run(program, [wasm, out]);
  const optimized = join(out, "sotto_bg.wasm");
  const allowed = ["--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext", "--enable-mutable-globals",
    "--enable-reference-types", "--enable-multivalue", ...(kind === "simd" ? ["--enable-simd"] : [])];
  run(process.execPath, [join(here, "node_modules/binaryen/bin/wasm-opt"), optimized, ...allowed, ...PASSES, "-o", optimized]);
  // Comments and indentation, which browsers need not load.
  const script = join(out, "sotto.js");
  writeFileSync(script, readFileSync(script, "utf8").replace(/^ *\/\*\*.*?\*\/\n/gms, "").replace(/^ +/gm, ""));
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
  console.log(`${family.padEnd(11)} ${kind.padEnd(6)} ${whole} KiB, ${sent} KiB brotli`);
}
const large = rows.filter(({ family, brotli }) => brotli > BUDGET);
if (large.length && !process.argv.includes("--no-check")) {
  console.error(`larger than ${BUDGET / 1024} KiB: ${large.map(({ family, kind }) => `${family} ${kind}`).join(", ")}`);
  process.exit(1);
}
