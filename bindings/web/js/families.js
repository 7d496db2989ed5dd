// The builds of the client: one for each family of schemes, plain and with SIMD, so that a page loads what its table needs.

import { fault } from "./errors.js";

const BUILDS = {
  linear: [() => import("../pkg/linear/plain/sotto.js"), () => import("../pkg/linear/simd/sotto.js")],
  silent: [() => import("../pkg/silent/plain/sotto.js"), () => import("../pkg/silent/simd/sotto.js")],
  cube: [() => import("../pkg/cube/plain/sotto.js"), () => import("../pkg/cube/simd/sotto.js")],
  slots: [() => import("../pkg/slots/plain/sotto.js"), () => import("../pkg/slots/simd/sotto.js")],
  hints: [() => import("../pkg/hints/plain/sotto.js"), () => import("../pkg/hints/simd/sotto.js")],
  puncturable: [() => import("../pkg/puncturable/plain/sotto.js"), () => import("../pkg/puncturable/simd/sotto.js")],
  split: [() => import("../pkg/split/plain/sotto.js"), () => import("../pkg/split/simd/sotto.js")],
};

/** The family of each scheme; a test compares this with the builds. `usual` is for what nobody knows. */
export const families = {
  usual: "linear",
  // begin families: written by `make ledger`
  "simplepir/1": "linear",
  "verisimplepir/1": "linear",
  "doublepir/1": "linear",
  "ypir/2": "silent",
  "ypir-sp/2": "silent",
  "inspire/1": "silent",
  "inspire-two/2": "silent",
  "kspir/1": "silent",
  "hintless/1": "silent",
  "fspiral/1": "cube",
  "spiral/1": "cube",
  "onionpir/1": "cube",
  "s3pir/1": "hints",
  "s3pir-two/1": "hints",
  "piano/1": "hints",
  "dpf/2": "split",
  "dpf/1": "split",
  "checklist/1": "puncturable",
  "lp-treepir/1": "puncturable",
  "bgvpir/1": "slots",
  "sealpir/1": "slots",
  "fastpir/1": "slots",
  "vbpir/1": "slots",
  "pirana/1": "slots",
  "trivial/1": "linear",
  // end families
};

// A module of one function, which gives a register of sixteen bytes. An engine that cannot run such code refuses it.
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11];

/** Whether this browser runs WebAssembly with SIMD. */
export const hasSimd = () => WebAssembly.validate(new Uint8Array(SIMD));

/** Loads a family, in the build that is the fastest here. */
export async function load(family) {
  const builds = BUILDS[family];
  if (!builds) {
    throw fault("misuse", "unknown-family", `unknown family ${family}`, `give one of ${Object.keys(BUILDS).join(", ")}`);
  }
  const module = await builds[hasSimd() ? 1 : 0]();
  await module.default();
  return module;
}
