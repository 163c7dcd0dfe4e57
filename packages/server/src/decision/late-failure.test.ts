// A store that fails after the request has been taken: the client still gets an answer.

import { ForwardingStore, memoryStore } from "sluice";
import { afterEach, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../test/decision-listener.js";
import { ServerError } from "../base/errors.js";

class LateBrokenStore extends ForwardingStore {
  override decideOne(): Promise<never> {
    return fail();
  }
  override decide(): Promise<never> {
    return fail();
  }
}

async function fail(): Promise<never> {
  await new Promise((resolve) => setImmediate(resolve));
  throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", "it is gone");
}

let test: TestListener | undefined;
afterEach(() => test?.close());

it("answers a check with an error when the store fails later", async () => {
  const rules = [{ id: "strict", key: "ip", limit: "5/minute", onStoreFailure: "throw" }];
  test = await openTestListener({ store: new LateBrokenStore(memoryStore()), rules });
  const facts = { method: "GET", path: "/", ip: "203.0.113.10" };
  const { status, body } = await test.post("/v1/check", { facts });
  expect(status).toBe(503);
  expect(body.code).toBe("SLUICE_DATABASE_UNAVAILABLE");
}, 10_000);
