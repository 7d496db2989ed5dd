// What a server of `s3pir` can see of hints: which records each query reads (`spec/s3pir.md`).

/** The records of each query that was sent, with the query's bytes. */
export function readsOf(page) {
  const signed = page.catalogs.get("spent");
  const params = JSON.parse(JSON.parse(signed).catalog).params;
  return page.asks().flatMap(({ body }) => queriesOf(body, params));
}

function queriesOf(body, { partitions: c, partition_rows: width }) {
  const bits = Math.log2(width);
  const bytes = Math.ceil(c / 8) + Math.ceil(((c / 2) * bits) / 8);
  const all = [];
  for (let at = 64; at < body.length; at += bytes) all.push(readOf(body.subarray(at, at + bytes), c, bits));
  return all;
}

function readOf(query, c, bits) {
  const bit = (at) => (query[at >> 3] >> (at & 7)) & 1;
  const start = Math.ceil(c / 8) * 8;
  const offset = (t) => Array.from({ length: bits }, (_, i) => bit(start + t * bits + i) << i).reduce((a, b) => a | b, 0);
  const next = [0, 0];
  const sets = [new Set(), new Set()];
  for (let partition = 0; partition < c; partition += 1) {
    const set = bit(partition);
    sets[set].add(`${partition}:${offset(next[set])}`);
    next[set] += 1;
  }
  return { bytes: query.toString("hex"), sets, half: c / 2 };
}

/** Pairs of different queries of which a set has most records in common: one hint made both. The same bytes again tell nothing. */
export function usedTwice(reads) {
  const pairs = [];
  for (const [i, one] of reads.entries()) {
    for (const [j, other] of reads.entries()) {
      if (j <= i || one.bytes === other.bytes) continue;
      const common = one.sets.flatMap((a) => other.sets.map((b) => [...a].filter((record) => b.has(record)).length));
      if (Math.max(...common) > one.half / 2) pairs.push([i, j]);
    }
  }
  return pairs;
}
