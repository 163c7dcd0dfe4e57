// The client under a library in the style of axios, which has adapters: functions that get a configuration and resolve to
// an object with data, status and headers. The adapter calls createFetch, so that every request of the library is paced,
// queued and repeated. Here a stub takes the place of the network: it refuses the first request.

import { createFetch, type FetchFunction } from "sluice/client";

/** What such a library passes to its adapter. */
interface Config {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly data?: unknown;
  readonly signal?: AbortSignal;
}

let requests = 0;
const network: FetchFunction = async (_url, init) => {
  requests++;
  const key = new Headers(init?.headers).get("idempotency-key");
  if (requests === 1) return new Response("slow down", { status: 429 });
  return Response.json({ created: true, repeated: key !== null });
};

const send = createFetch({ fetch: network, idempotencyKeys: true, backoffMs: 10 });

async function adapter({ url, method = "GET", headers, data, signal }: Config) {
  const response = await send(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(data === undefined ? {} : { body: JSON.stringify(data) }),
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    data: await response.json(),
    status: response.status,
    headers: Object.fromEntries(response.headers),
  };
}

// With axios itself: axios.create({ adapter })
const { data, status } = await adapter({
  url: "https://api.example.com/orders",
  method: "POST",
  data: { item: 7 },
});
console.log(status, JSON.stringify(data));
console.log(`${requests} requests, with the same idempotency key`);

// Prints:
// 200 {"created":true,"repeated":true}
// 2 requests, with the same idempotency key
