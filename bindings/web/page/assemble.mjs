// Puts the page and the package together in one folder, for `sotto serve --static-dir`.
//
//     node assemble.mjs DIR

import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const packaged = join(here, "..");

/** What a browser loads: not what builds it, and not its types. */
const isServed = (file) => [".html", ".css", ".js", ".svg", ".wasm"].includes(extname(file));

export function assemble(out) {
  if (!existsSync(join(packaged, "pkg"))) throw new Error("the package is not built: node bindings/web/build.mjs");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(here).filter(isServed)) cpSync(join(here, name), join(out, name));
  for (const folder of ["js", "pkg"]) {
    const filter = (file) => extname(file) === "" || isServed(file) && !basename(file).endsWith(".d.ts");
    cpSync(join(packaged, folder), join(out, "sotto", folder), { recursive: true, filter });
  }
}

if (fileURLToPath(import.meta.url) === argv[1]) assemble(argv[2]);
