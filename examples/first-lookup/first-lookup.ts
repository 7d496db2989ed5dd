// Looks one row up privately, in a browser.
//
// `sotto serve` prints the address and the key.

import { connect } from "@sotto/client";

/** The row as text, and what it cost. */
export async function lookUp(url: string, table: string, key: string, row: number): Promise<string> {
  const opened = await connect(url, table, { pin: key });
  try {
    const value: Uint8Array = await opened.get(row);
    const cost = opened.last;
    if (!cost) throw new Error("one lookup was made");
    return `${new TextDecoder().decode(value)} (${cost.up} bytes up, ${cost.down} down)`;
  } finally {
    await opened.close();
  }
}
