import { describe, expect, it, vi } from "vitest";
import { refusal, reset, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";
import { RECORDED_BYTES_MAX } from "./recorded-body.js";

describe("an idempotency key", () => {
  const keysOf = (sent: readonly { init: RequestInit }[]) =>
    sent.map(({ init }) => new Headers(init.headers).get("idempotency-key"));

  it("is generated, repeated with each retry, and new for each request", async () => {
    const { fetch, sent, finish } = setup([reset(), refusal()], { idempotencyKeys: true });
    const init = { method: "POST", body: "x", headers: { a: "b" } };
    await finish(fetch(URL_OF_API, init));
    await finish(fetch(URL_OF_API, init));
    const [first, second, third, other] = keysOf(sent);
    expect(first).toMatch(/^"[0-9a-f-]{36}"$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(new Headers(sent[0]?.init.headers).get("a")).toBe("b");
  });

  it("of the caller is kept, and makes a POST repeatable", async () => {
    const { fetch, sent, finish } = setup([reset()], { idempotencyKeys: true });
    const headers = { "Idempotency-Key": "mine" };
    await finish(fetch(URL_OF_API, { method: "POST", headers }));
    expect(keysOf(sent)).toEqual(["mine", "mine"]);
  });

  it("that is empty is none: a POST with it is not repeated", async () => {
    const post = { method: "POST", headers: { "idempotency-key": "" } };
    for (const idempotencyKeys of [false, () => ""]) {
      const { fetch, sent, finish } = setup(() => reset(), { idempotencyKeys });
      await expect(finish(fetch(URL_OF_API, post))).rejects.toThrow("fetch failed");
      expect(sent).toHaveLength(1);
    }
    const { fetch, sent, finish } = setup([reset()], { idempotencyKeys: true });
    await finish(fetch(URL_OF_API, post));
    const keys = sent.map(({ init }) => new Headers(init.headers).get("idempotency-key"));
    expect(keys[0]).toMatch(/^"[\w-]{36}"$/);
    expect(keys[1]).toBe(keys[0]);
    await expect(fetch(URL_OF_API, post, { idempotencyKey: "" })).rejects.toThrow(
      "idempotencyKey must be a string that is not empty, or true",
    );
  });

  it("may be given with the request, made by a function, or asked for once", async () => {
    const { fetch, sent, finish } = setup([], { idempotencyKeys: () => "made" });
    const init = { method: "POST" };
    await finish(fetch(URL_OF_API, init, { idempotencyKey: "given" }));
    await finish(fetch(URL_OF_API, init));
    await finish(fetch(URL_OF_API));
    expect(keysOf(sent)).toEqual(["given", "made", null]);
    const headers = { "Idempotency-Key": "old" };
    await finish(fetch(URL_OF_API, { ...init, headers }, { idempotencyKey: "given" }));
    expect(keysOf(sent).at(-1)).toBe("given");
    const once = setup([]);
    await once.finish(once.fetch(URL_OF_API, init, { idempotencyKey: true }));
    expect(keysOf(once.sent)[0]).toMatch(/^".{36}"$/);
  });
});

describe("a body", () => {
  it.each([
    ["a string", () => "x"],
    ["bytes", () => new Uint8Array([1])],
    ["a buffer", () => new ArrayBuffer(1)],
    ["a form", () => new FormData()],
    ["parameters", () => new URLSearchParams("a=b")],
    ["a blob", () => new Blob(["x"])],
  ])("that is %s is sent again", async (_what, toBody) => {
    const { fetch, sent, finish } = setup([reset()]);
    const body = toBody();
    await finish(fetch(URL_OF_API, { method: "PUT", body }));
    expect(sent.map((each) => each.body)).toEqual([body, body]);
  });

  const stream = () => new ReadableStream({ start: (controller) => controller.close() });

  it("that is a stream is not: the error says so, and has the cause", async () => {
    const error = reset();
    const { fetch, sent, finish } = setup([error]);
    const asked = fetch(URL_OF_API, {
      method: "PUT",
      body: stream(),
      duplex: "half",
    } as RequestInit);
    await expect(finish(asked)).rejects.toMatchObject({
      code: "SLUICE_CLIENT_BODY_SPENT",
      cause: error,
    });
    expect(sent).toHaveLength(1);
  });

  it("that is a stream does not turn a refusal into an error", async () => {
    const { fetch, events, finish } = setup([refusal()]);
    const init = { method: "PUT", body: stream(), duplex: "half" } as RequestInit;
    expect((await finish(fetch(URL_OF_API, init))).status).toBe(429);
    expect(events).toContainEqual(expect.objectContaining({ type: "give-up", reason: "body" }));
  });

  it("that a function makes is made for each attempt", async () => {
    const { fetch, sent, finish } = setup([reset()]);
    const body = vi.fn(stream);
    const init = { method: "PUT", duplex: "half" } as RequestInit;
    await finish(fetch(URL_OF_API, init, { body }));
    expect(body).toHaveBeenCalledTimes(2);
    expect(sent[0]?.body).not.toBe(sent[1]?.body);
  });

  it("of a Request is copied for each attempt", async () => {
    const { fetch, sent, finish } = setup([reset(), refusal()]);
    await finish(fetch(new Request(URL_OF_API, { method: "PUT", body: "whole" })));
    const bodies = await Promise.all(sent.map(({ body }) => new Response(body as string).text()));
    expect(bodies).toEqual(["whole", "whole", "whole"]);
  });

  it("of a Request that is too long to be kept is neither buffered nor sent again", async () => {
    const chunk = new Uint8Array(65_536);
    let pulled = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled += chunk.byteLength;
        controller.enqueue(chunk);
      },
    });
    const error = reset();
    const upload = { method: "PUT", body: endless, duplex: "half" } as RequestInit;
    let reads = 0;
    const { fetch, finish } = setup([], {
      fetch: async (input) => {
        const reader = (input as Request).body?.getReader();
        while (reads++ < 100) await reader?.read();
        throw error;
      },
    });
    await expect(finish(fetch(new Request(URL_OF_API, upload)))).rejects.toMatchObject({
      code: "SLUICE_CLIENT_BODY_SPENT",
      cause: error,
    });
    expect(reads).toBe(101);
    // What was sent, and at most what the recording and the streams hold.
    expect(pulled).toBeLessThan(100 * chunk.byteLength + 2 * RECORDED_BYTES_MAX);
  });

  it("of a Request that another body replaces is not sent", async () => {
    const { fetch, sent, finish } = setup([reset()]);
    const request = new Request(URL_OF_API, { method: "PUT", body: "old" });
    await finish(fetch(request, { body: "new" }));
    expect(sent.map(({ body }) => body)).toEqual(["new", "new"]);
  });
});
