// Idempotency-Key: the same request, sent twice, is answered and counted once.

import { ForwardingStore, memoryStore, type Store } from "sluice";
import { stopAll } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { BrokenStore, openUntilStop as open } from "../../test/decision-listener.js";
import { Idempotency } from "./idempotency.js";

afterEach(stopAll);

const own = { limit: "5/minute", key: "user:42" };
const key = { "idempotency-key": '"8e03978e-40d5"' };
const authorized = (token: string) => ({ ...key, authorization: `Bearer ${token}` });

describe("a request with the same key", () => {
  it("gets the stored answer again and counts once", async () => {
    const { post } = await open();
    const first = await post("/v1/check", own, key);
    const again = await post("/v1/check", own, key);
    expect(first.body.remaining).toBe(4);
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect((await post("/v1/check", own)).body.remaining).toBe(3);
  });

  it("gets the same reservation again", async () => {
    const { post } = await open();
    const first = await post("/v1/reserve", own, key);
    expect((await post("/v1/reserve", own, key)).body.id).toBe(first.body.id);
  });

  it("gets a refusal and an error of its own again", async () => {
    const { post } = await open();
    const refused = await post("/v1/check", { ...own, cost: 6 }, key);
    expect(refused.body.allowed).toBe(false);
    expect((await post("/v1/check", { ...own, cost: 6 }, key)).body).toEqual(refused.body);
    const bad = { "idempotency-key": '"bad"' };
    const { status, body } = await post("/v1/check", {}, bad);
    expect(await post("/v1/check", {}, bad)).toMatchObject({ status, body });
  });

  it("and another body or path gets 422", async () => {
    const { post } = await open();
    await post("/v1/check", own, key);
    const other = await post("/v1/check", { ...own, cost: 2 }, key);
    expect(other.status).toBe(422);
    expect(other.body.code).toBe("SLUICE_KEY_REUSED");
    expect((await post("/v1/peek", own, key)).status).toBe(422);
  });

  it("under another token is another request", async () => {
    const { post } = await open({ decision: { tokens: ["token-one", "token-two"] } });
    expect((await post("/v1/check", own, authorized("token-one"))).body.remaining).toBe(4);
    expect((await post("/v1/check", own, authorized("token-two"))).body.remaining).toBe(3);
  });

  it("is decided again after a minute", async () => {
    const { post, clock } = await open();
    const long = { limit: "5/hour", key: "user:42" };
    await post("/v1/check", long, key);
    clock.advance(59_999);
    expect((await post("/v1/check", long, key)).body.remaining).toBe(4);
    clock.advance(60_001);
    expect((await post("/v1/check", { ...long, cost: 2 }, key)).body.remaining).toBe(2);
  });

  it("gets 409 while the first one is under way", async () => {
    const store = new SlowStore();
    const { post } = await open({ store });
    const first = post("/v1/check", own, key);
    await store.asked;
    const second = await post("/v1/check", own, key);
    expect(second.status).toBe(409);
    expect(second.body.code).toBe("SLUICE_IN_FLIGHT");
    const other = await post("/v1/check", { ...own, cost: 2 }, key);
    expect(other.status).toBe(422);
    store.goOn();
    const { body } = await first;
    expect((await post("/v1/check", own, key)).body).toEqual(body);
  });

  it("can be tried again after a failure of the store", async () => {
    const store = new BrokenStore();
    const rules = [{ id: "strict", key: "ip", limit: "5/minute", onStoreFailure: "throw" }];
    const { post } = await open({ store, rules });
    const asked = { facts: { method: "GET", path: "/", ip: "203.0.113.10" } };
    expect((await post("/v1/check", asked, key)).status).toBe(503);
    store.isBroken = false;
    expect((await post("/v1/check", asked, key)).body.remaining).toBe(4);
  });
});

it.each(["8e03978e", '"', '""', '"a"b"', '"\u00fc"', `"${"x".repeat(256)}"`])(
  "%s is not a key: it needs quotes and 1 to 255 characters",
  async (field) => {
    const { post } = await open();
    const { status, body } = await post("/v1/check", own, { "idempotency-key": field });
    expect(status).toBe(400);
    expect(body.detail).toContain("Idempotency-Key must be");
  },
);

describe("kept answers", () => {
  const of = (name: string, token = 0) => ({ token, owner: name, print: name });
  const ended = (kept: Idempotency, name: string, body = "{}", token = 0) => {
    const asked = of(name, token);
    expect(kept.begin(asked)).toBeUndefined();
    kept.end(asked, { status: 200, body });
  };

  it("are 10,000 at most, and the oldest go", () => {
    const kept = new Idempotency(() => 0);
    for (let i = 0; i <= 10_000; i++) ended(kept, `${i}`);
    expect(kept.size).toBe(10_000);
    expect(kept.begin(of("1"))).toBeDefined();
    expect(kept.begin(of("0"))).toBeUndefined();
  });

  it("of a caller that sends ever more keys replace its own oldest, and none of another's", () => {
    const kept = new Idempotency(() => 0);
    ended(kept, "theirs", "{}", 1);
    for (let i = 0; i < 11_000; i++) ended(kept, `${i}`);
    expect(kept.size).toBe(10_000);
    const body = "x".repeat(8 * 1_024 * 1_024);
    for (let i = 0; i < 10; i++) ended(kept, `long ${i}`, body);
    expect(kept.begin(of("theirs", 1))).toBeDefined();
    expect(kept.begin(of("long 9"))).toBeDefined();
    expect(kept.begin(of("0"))).toBeUndefined();
  });

  it("are 64 Mi characters at most together", () => {
    const kept = new Idempotency(() => 0);
    const body = "x".repeat(8 * 1_024 * 1_024);
    for (let i = 0; i < 20; i++) ended(kept, `${i}`, body);
    expect(kept.size).toBe(8);
  });

  it("go when their minute is over", () => {
    let nowMs = 0;
    const kept = new Idempotency(() => nowMs);
    ended(kept, "old");
    nowMs = 60_000;
    ended(kept, "new");
    expect(kept.size).toBe(1);
  });
});

/** A store that answers when the test lets it. */
class SlowStore extends ForwardingStore {
  goOn: () => void = () => {};
  readonly asked: Promise<void>;
  #notify: () => void = () => {};

  constructor() {
    super(memoryStore());
    this.asked = new Promise((resolve) => {
      this.#notify = resolve;
    });
  }

  override async decide(...args: Parameters<Store["decide"]>) {
    this.#notify();
    await new Promise<void>((resolve) => {
      this.goOn = resolve;
    });
    return super.decide(...args);
  }
}
