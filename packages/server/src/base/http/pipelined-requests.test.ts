import type { ServerResponse } from "node:http";
import { connectTo, type RawClient } from "sluice-test-servers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually, onStop, startServer, stopAll } from "../../../test/proxy-fixture.js";
import { inTurn, PIPELINED_MAX } from "./pipelined-requests.js";

const REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Requests that were taken in and wait for the test to answer them. */
let begun: ServerResponse[];
let client: RawClient;
let url: string;

beforeEach(async () => {
  begun = [];
  const fixture = await startServer((request, response) =>
    inTurn(request, response, () => {
      if (request.url === "/other") response.end();
      else begun.push(response);
    }),
  );
  url = fixture.url;
  client = await connectTo(url);
  onStop(() => client.end());
});
afterEach(stopAll);

it("takes the requests of a connection one after the other, even if they arrive together", async () => {
  client.send(REQUEST.repeat(3));
  for (let i = 1; i <= 3; i++) {
    await eventually(() => begun.length === i);
    // A request of another connection comes after all that were there, and waits for none of them.
    expect((await fetch(`${url}/other`)).status).toBe(200);
    expect(begun).toHaveLength(i);
    begun[i - 1].end();
  }
  await client.until((seen) => seen.match(/^HTTP\/1\.1 200/gm)?.length === 3);
});

it(`lets ${PIPELINED_MAX} requests wait behind another, and closes the connection with one more`, async () => {
  client.send(REQUEST);
  await eventually(() => begun.length === 1);
  client.send(REQUEST.repeat(PIPELINED_MAX));
  expect((await fetch(`${url}/other`)).status).toBe(200);
  expect(client.isClosed).toBe(false);
  client.send(REQUEST);
  expect(await client.closed()).toBe("");
  expect(begun).toHaveLength(1);
});
