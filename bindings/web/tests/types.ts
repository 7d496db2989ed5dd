// Compiled and never run: what `js/index.d.ts` promises a program.
import { NetworkError, SottoError, UnreadableError, connect, selfTest, type LookupCost } from "@sotto/client";

export async function phone(address: string): Promise<string | undefined> {
  const table = await connect(["https://a.example", "https://b.example"], "people", {
    pin: "sotto-pk:00",
    onProgress: ({ stage, done, total }) => console.log(stage, done, total),
  });
  try {
    const value: Uint8Array | null = await table.get({ key: address });
    const row: Uint8Array = await table.get(7n);
    const many: (Uint8Array | null)[] = await table.getMany([1, { key: address }], { batch: 4 });
    const cost: LookupCost | undefined = table.last;
    console.log(row.length, many.length, cost?.leakage, table.about.epoch);
    return value ? new TextDecoder().decode(value) : undefined;
  } catch (error) {
    if (error instanceof UnreadableError) throw error;
    if (error instanceof NetworkError && error.code === "timeout") return undefined;
    if (error instanceof SottoError) console.log(error.code, error.fix, error.fault);
    // @ts-expect-error A key is `{ key }`, so that it is not taken for a row's number.
    await table.get("7");
    throw error;
  }
}

export async function isSound(vector: ArrayBuffer): Promise<number> {
  const row: Uint8Array = await selfTest(vector, { signal: AbortSignal.timeout(10_000) });
  // @ts-expect-error A vector is bytes, not the name of a file.
  await selfTest("spec/vectors/simplepir-1.json");
  return row.length;
}
