// Runs a program for wasm32-wasip1 in Node, with this process's arguments, environment and files: what cargo calls a runner.
import { readFileSync } from "node:fs";
import process from "node:process";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const preopens = { "/": "/", ".": process.cwd() };
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens });
const { instance } = await WebAssembly.instantiate(readFileSync(args[0]), wasi.getImportObject());
process.exitCode = wasi.start(instance);
