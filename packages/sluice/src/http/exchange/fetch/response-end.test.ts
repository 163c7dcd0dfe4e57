import { describe, expect, it } from "vitest";
import { whenSent } from "./response-end.js";

const get = new Request("http://api.example.com/");

function watched(response: Response, request = get): { response: Response; ends: number[] } {
  const ends: number[] = [];
  return { response: whenSent(request, response, (bytes) => ends.push(bytes)), ends };
}

describe("whenSent", () => {
  it("reports the end once the last byte was taken, with the bytes, and changes nothing else", async () => {
    const headers = { "content-type": "text/plain", "x-own": "yes" };
    const { response, ends } = watched(new Response("héllo", { status: 203, headers }));
    expect(ends).toEqual([]);
    expect([response.status, response.headers.get("x-own")]).toEqual([203, "yes"]);
    expect(await response.text()).toBe("héllo");
    expect(ends).toEqual([6]);
  });

  it("reads nothing ahead of its reader", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(10));
        },
      },
      { highWaterMark: 0 },
    );
    const { response, ends } = watched(new Response(body));
    expect(pulled).toBe(0);
    const reader = response.body?.getReader();
    await reader?.read();
    expect(pulled).toBe(1);
    await reader?.cancel("enough");
    expect(ends).toEqual([10]);
  });

  it("reports the end immediately if other code reads the body", () => {
    const original = new Response("hello");
    original.body?.getReader();
    const { response, ends } = watched(original);
    expect(response).toBe(original);
    expect(ends).toEqual([0]);
  });

  it("passes a reader's cancel on to the body", async () => {
    const reasons: unknown[] = [];
    const body = new ReadableStream({ cancel: (reason) => void reasons.push(reason) });
    const { response, ends } = watched(new Response(body));
    await response.body?.cancel("gone");
    expect(reasons).toEqual(["gone"]);
    expect(ends).toEqual([0]);
  });

  it("passes a body's failure on to the reader", async () => {
    const body = new ReadableStream({
      pull() {
        throw new Error("source failed");
      },
    });
    const { response, ends } = watched(new Response(body));
    await expect(response.text()).rejects.toThrow("source failed");
    expect(ends).toEqual([0]);
  });

  it("reports once that the client is gone, even if the body is not cancelled", async () => {
    const controller = new AbortController();
    const request = new Request("http://api.example.com/", { signal: controller.signal });
    const { response, ends } = watched(new Response("hello"), request);
    controller.abort();
    expect(ends).toEqual([0]);
    expect(await response.text()).toBe("hello");
    expect(ends).toEqual([0]);
    expect(watched(new Response("late"), request).ends).toEqual([0]);
  });

  it("reports the end immediately where no body will be sent", () => {
    const head = new Request("http://api.example.com/", { method: "HEAD" });
    for (const { response, ends } of [
      watched(new Response(null, { status: 204 })),
      watched(new Response("never sent"), head),
    ]) {
      expect(response).toBeInstanceOf(Response);
      expect(ends).toEqual([0]);
    }
  });
});
