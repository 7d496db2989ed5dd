// Runs a program for wasm32-wasip1 in Node, with this process's arguments, environment and files: what cargo calls a runner.
import { readFileSync } from "node:fs";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { WASI } from "node:wasi";

// Node 20 forgets the code of JavaScript that was not run for a while, and crashes when a program of half a minute then ends.
setFlagsFromString("--no-flush-bytecode");
const args = process.argv.slice(2);
const preopens = { "/": "/", ".": process.cwd() };
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens });
const { instance } = await WebAssembly.instantiate(readFileSync(args[0]), wasi.getImportObject());
process.exitCode = wasi.start(instance);
