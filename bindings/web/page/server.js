// The server that the page asks, which is the one that it came from. The documentation has the page over recorded lookups in place of
// this file: `docs/site/recorded/server.js`.

import { connect as open } from "./sotto/js/index.js";

export const host = location.host;

export const connect = (name, options) => open(location.origin, name, options);

/** The layer of stacks that are asked for rows and keys. */
const BATCHES = "pbc/1";

async function json(path) {
  const response = await fetch(path, { credentials: "omit" });
  if (!response.ok) throw new Error(`the server does not say what it has: ${path} is ${response.status}`);
  return response.json();
}

/** What can be asked of one server here: tables, and stacks of rows or keys, whose own tables are left out as are proofs of logs. */
export async function tables() {
  const { tables: own, stacks: names = [], roles = {} } = await json("/v1/tables");
  const signed = await Promise.all(names.map((name) => json(`/v1/stacks/${encodeURIComponent(name)}`)));
  const stacks = signed.map(({ stack }) => JSON.parse(stack));
  const shards = new Set(stacks.flatMap((stack) => stack.shards.map(({ table }) => table)));
  const batches = stacks.filter(({ layers }) => layers.some(({ name }) => name === BATCHES)).map(({ stack }) => stack);
  return [...own.filter((name) => !(name in roles) && !shards.has(name)), ...batches];
}
