// A key has one spelling, whatever it was written like: browsers bring their own Unicode, and the command has tables. Both agree.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Page, browser, call, encode, got, serve, tab } from "./kit.mjs";

const FORMS = {
  domain: {
    keys: [
      "example.com", "bücher.example", "straße.de", "日本語.jp", "_dmarc.example.org", "a--b.example", "مثال.إختبار",
      "i❤.ws", "*.bücher.example",
    ],
    spellings: [
      "EXAMPLE.Com.", "example。com", "ｅxample.com", "BU\u0308CHER.EXAMPLE", "XN--BCHER-KVA.example", "STRAẞE.de",
      "strasse.de", "xn--wgv71a119e.jp", "_DMARC.example.org", "I❤.ws", "b\u00fccher.example.", "missing.example",
      "*.xn--bcher-kva.example", "xn--bcher-kva。example", "xn--bcher-kva.straße",
    ],
    refused: [
      ".", "..", ".example.com", "example..com", "example.com..", "exa mple.com", " example.com", "example.com\n",
      "example.com/path", "user@example.com", "example.com:443", "xn--a.example", "xn--zz-----.example", "xn--a-ecp.ru", "xn--abc-.example",
      "192.0.2.1",
      "example.0x7f", "１９２.0.2.1", "a\0b.example", "ab\u200dc.example", "bücher.example/x", "bücher.example?x",
      "bücher＠example", "bü％41.example", "bü%41.example", "bücher..example", "bü cher.example", "bü\tcher.example",
      "bücher.example\n", "\u{378}.example", "אa.example", `${"a".repeat(64)}.example`, `${"ü".repeat(64)}.example`,
    ],
  },
  email: {
    keys: ["ann@example.com", "jörg@bücher.example", "a.b+c@example.org"],
    spellings: [
      "Ann@Example.COM", "jo\u0308rg@xn--bcher-kva.example", "JöRG@bücher.example", "A.B+C@example.org",
      "no@example.com",
    ],
    refused: [
      "ann", "ann@", "@example.com", "a b@example.com", "ann@exa mple.com", "ann\u00a0@example.com",
      "jörg@bü%20r.example",
    ],
  },
  text: {
    keys: ["café", "ﬁsh", "Å", "각", "plain"],
    spellings: ["cafe\u0301", "fish", "\u212b", "A\u030a", "\u1100\u1161\u11a8", "Plain"],
    refused: [""],
  },
};

let tables, server, page, context, open;

before(async () => {
  tables = Object.entries(FORMS).map(([form, { keys }]) =>
    encode(`keys-${form}`, { words: keys.map((key, i) => [key, `value ${i}`]), scheme: "simplepir", more: ["--key-form", form] }),
  );
  server = await serve(tables);
  page = await Page.start([server]);
  context = await browser();
  open = await tab(context, page);
});

after(async () => {
  await context?.close();
  page?.close();
  await server?.stop();
});

for (const [form, { keys, spellings, refused }] of Object.entries(FORMS)) {
  test(`the command and the browser read a key of the form ${form} alike`, async () => {
    const name = `keys-${form}`;
    const about = await call(open, "connect", name, {});
    assert.equal(about.key_form, form, JSON.stringify(about));
    let found = 0;
    for (const key of [...keys, ...spellings]) {
      const here = await call(open, "word", name, key);
      assert.equal(here?.error, undefined, `${key}: ${here?.message}`);
      assert.equal(here, got(server, name, key), key);
      found += here === null ? 0 : 1;
    }
    assert.ok(found > keys.length, `${found} of ${spellings.length} spellings are there`);
    for (const key of refused) {
      assert.equal((await call(open, "word", name, key))?.error, "MisuseError", JSON.stringify(key));
      // No program is given such an argument.
      if (key.includes("\0")) continue;
      assert.throws(() => got(server, name, key), ({ status }) => [2, 3, 7].includes(status), JSON.stringify(key));
    }
  });
}
