// Callers that disconnect before they have their answer: what it would have reported as theirs is returned.

import { ForwardingStore, memoryStore, type Store } from "sluice";
import { connectTo, stopAll } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { openUntilStop as open } from "../../test/decision-listener.js";

afterEach(stopAll);

const permit = { limit: { concurrency: { limit: 1, permitMs: 3_600_000 } }, key: "user:42" };
const quota = { limit: "1/day", key: "user:42" };
const KEY = 'Idempotency-Key: "8e03978e"\r\n';

/** Sends a request whose answer waits, and disconnects. Resolves when the store has answered. */
async function hangUp(path: string, body: object, lines = "") {
  const store = new WaitingStore();
  const { listener, post, get } = await open({ store });
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${lines}`;
  const client = await connectTo(listener.url);
  client.send(`${head}Content-Length: ${text.length}\r\n\r\n${text}`);
  await store.asked;
  client.end();
  // A request of another connection comes after all that were there.
  for (let i = 0; i < 2; i++) await get("/livez");
  store.goOn();
  return { post };
}

describe("a caller that disconnects while its request is decided", () => {
  it.each([
    ["/v1/acquire", permit],
    ["/v1/reserve", quota],
  ])("holds nothing after %s", async (path, body) => {
    const { post } = await hangUp(path, body);
    await expect.poll(async () => (await post(path, body)).body.allowed).toBe(true);
    expect((await post(path, body)).body.allowed).toBe(false);
  });

  it("gets what it holds by asking again with its Idempotency-Key", async () => {
    const { post } = await hangUp("/v1/acquire", permit, KEY);
    const again = () => post("/v1/acquire", permit, { "idempotency-key": '"8e03978e"' });
    await expect.poll(async () => (await again()).status).toBe(200);
    const { id } = (await again()).body;
    expect((await post("/v1/acquire", permit)).body.allowed).toBe(false);
    expect((await post("/v1/release", { id })).status).toBe(200);
  });
});

/** A store whose first answer waits until the test lets it go. */
class WaitingStore extends ForwardingStore {
  goOn: () => void = () => {};
  #notify: () => void = () => {};
  readonly #released = new Promise<void>((resolve) => {
    this.goOn = resolve;
  });
  readonly asked = new Promise<void>((resolve) => {
    this.#notify = resolve;
  });

  constructor() {
    super(memoryStore());
  }

  override async decide(...args: Parameters<Store["decide"]>) {
    this.#notify();
    await this.#released;
    return super.decide(...args);
  }
}
