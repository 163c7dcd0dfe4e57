// What the playground and code in workers import must be free of Node.js: these entries are bundled for a browser. The
// client also runs in one, since that is where many callers of an API are.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ClientEvent } from "sluice/client";
import { onStop, startBrowser, stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { bundleForBrowser } from "./browser-bundle.js";

afterAll(stopAll);

describe("in a bundle for browsers", () => {
  it.each(["sluice", "sluice/response", "sluice/client", "sluice/testing"])(
    "%s imports nothing of Node.js",
    async (specifier) => {
      const { imports, exports } = await bundleForBrowser(specifier);
      expect(imports).toEqual([]);
      expect(exports.length).toBeGreaterThan(0);
    },
  );
});

describe("the client in a page", () => {
  it("repeats a POST with its body and idempotency key after the Retry-After of a refusal", async () => {
    const { code } = await bundleForBrowser("sluice/client");
    const seen: Seen[] = [];
    const url = await serve(code, seen);
    const browser = await startBrowser();
    onStop(() => browser.close());
    const page = await browser.newPage();
    await page.goto(url);

    const result = await page.evaluate(async () => {
      const { createFetch } = globalThis as unknown as typeof import("sluice/client");
      const events: ClientEvent[] = [];
      const fetch = createFetch({ onEvent: (event) => events.push(event) });
      const response = await fetch("/orders", {
        method: "POST",
        headers: { "Idempotency-Key": '"order-1"' },
        body: "two apples",
      });
      const refusals = events.filter(({ type }) => type === "refused");
      return { status: response.status, text: await response.text(), refusals };
    });

    expect(result).toMatchObject({ status: 201, text: "ordered" });
    expect(result.refusals).toMatchObject([{ retryAfterMs: 1_000 }]);
    const sent = { body: "two apples", idempotencyKey: '"order-1"' };
    expect(seen).toMatchObject([sent, sent]);
    expect(seen[1].atMs - seen[0].atMs).toBeGreaterThanOrEqual(1_000);
  });
});

const PAGE = `<title>Shop</title>
<script type="module">import * as client from "/client.js"; Object.assign(globalThis, client);</script>`;

interface Seen {
  readonly body: string;
  readonly idempotencyKey: string | undefined;
  readonly atMs: number;
}

/** A page, the client, and orders of which the first is refused for a second. */
async function serve(client: string, seen: Seen[]): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url === "/client.js")
      return response.setHeader("content-type", "text/javascript").end(client);
    if (request.url !== "/orders") return response.setHeader("content-type", "text/html").end(PAGE);
    const body = (await request.toArray()).join("");
    const [idempotencyKey] = request.headersDistinct["idempotency-key"] ?? [];
    seen.push({ body, idempotencyKey, atMs: performance.now() });
    if (seen.length === 1) return response.writeHead(429, { "retry-after": "1" }).end();
    return response.writeHead(201).end("ordered");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
