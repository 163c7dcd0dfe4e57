import { connectTo } from "sluice-test-servers";
import { afterEach, expect, it } from "vitest";
import { eventually, onStop, stopAll } from "../../test/proxy-fixture.js";
import { toTestConfig } from "../../test/test-config.js";
import { createCore } from "../core/create-core.js";
import { openAdmin } from "./admin.js";

afterEach(stopAll);

const REQUEST =
  "POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/** An admin port whose reloads end when the test says so. */
async function setUp() {
  const core = createCore(toTestConfig());
  const waiting: (() => void)[] = [];
  let begun = 0;
  const listener = await openAdmin(core, {
    isReady: () => ({ ready: true, reasons: [] }),
    reload: () => {
      begun++;
      return new Promise<void>((resolve) => void waiting.push(resolve));
    },
    metrics: () => core.telemetry.metrics(),
  });
  onStop(async () => {
    await listener.close();
    await core.close();
  });
  return { url: listener.url, begun: () => begun, endOne: () => waiting.shift()?.() };
}

it("takes the requests of a connection one after the other, even if they arrive together", async () => {
  const { url, begun, endOne } = await setUp();
  const client = await connectTo(url);
  onStop(() => client.end());
  client.send(REQUEST.repeat(3));
  for (let i = 1; i <= 3; i++) {
    await eventually(() => begun() === i);
    // A request of another connection comes after all that were there.
    expect((await fetch(`${url}/v1/version`)).status).toBe(200);
    expect(begun()).toBe(i);
    endOne();
  }
  const text = await client.until((seen) => seen.split('"reloaded":true').length === 4);
  expect(text.match(/^HTTP\/1\.1 200/gm)).toHaveLength(3);
});
