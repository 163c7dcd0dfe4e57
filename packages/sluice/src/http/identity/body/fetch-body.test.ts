import { describe, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { readFetchBody } from "./fetch-body.js";

const BOUNDS = { bytesMax: 64, arrivalMsMax: 100, clock: systemClock };
const JSON_TYPE = { "content-type": "application/json" };

function requestOf(
  body: RequestInit["body"],
  headers: Record<string, string> = JSON_TYPE,
): Request {
  return new Request("http://a.example/", {
    method: "POST",
    body,
    headers,
    duplex: "half",
  } as RequestInit);
}

/** A body that comes in pieces, and continues when the test says so. */
function flowing() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  return { readable, write, writer };
}

describe("the body of a Request", () => {
  it("is read ahead, and can still be read", async () => {
    const request = requestOf('{"account":"ann"}');
    expect({ ...(await readFetchBody(request, BOUNDS)) }).toEqual({ account: "ann" });
    expect(request.bodyUsed).toBe(false);
    expect(await request.json()).toEqual({ account: "ann" });
  });

  it("may be a form", async () => {
    const request = requestOf(new URLSearchParams({ account: "ann" }), {});
    expect({ ...(await readFetchBody(request, BOUNDS)) }).toEqual({ account: "ann" });
    expect((await request.formData()).get("account")).toBe("ann");
  });

  it("is whole if it comes in pieces", async () => {
    const { readable, write, writer } = flowing();
    const request = requestOf(readable);
    const fields = readFetchBody(request, BOUNDS);
    for (const byte of '{"account":"ann"}') await write(byte);
    await writer.close();
    expect({ ...(await fields) }).toEqual({ account: "ann" });
    expect(await request.text()).toBe('{"account":"ann"}');
  });

  it("is read for exactly bytesMax and not for one more", async () => {
    const fits = JSON.stringify({ a: "x".repeat(56) });
    const over = JSON.stringify({ a: "x".repeat(57) });
    expect(await readFetchBody(requestOf(fits), BOUNDS)).toBeDefined();
    const request = requestOf(over);
    expect(await readFetchBody(request, BOUNDS)).toBeUndefined();
    expect(await request.text()).toBe(over);
    const announced = requestOf(over, { ...JSON_TYPE, "content-length": "65" });
    expect(readFetchBody(announced, BOUNDS)).toBeUndefined();
    expect(await announced.text()).toBe(over);
  });

  it("is waited for until arrivalMsMax, and is still whole for who waits longer", async () => {
    const clock = new ManualClock();
    const { readable, write, writer } = flowing();
    const request = requestOf(readable);
    const fields = readFetchBody(request, { ...BOUNDS, clock });
    await write('{"a":');
    clock.advance(100);
    expect(await fields).toBeUndefined();
    const text = request.text();
    await write("1}");
    await writer.close();
    expect(await text).toBe('{"a":1}');
  });

  it("is given up if it fails", async () => {
    const { readable, write, writer } = flowing();
    const fields = readFetchBody(requestOf(readable), BOUNDS);
    await write('{"a":');
    await writer.abort(new Error("gone"));
    expect(await fields).toBeUndefined();
  });

  it("is read once, however many ask", async () => {
    const request = requestOf('{"a":1}');
    const fields = await readFetchBody(request, BOUNDS);
    expect(await readFetchBody(request, BOUNDS)).toBe(fields);
    await request.text();
    expect(await readFetchBody(request, BOUNDS)).toBe(fields);
  });

  it("is not read if there is none, it is of another form, or it was read or locked before", async () => {
    expect(readFetchBody(new Request("http://a.example/"), BOUNDS)).toBeUndefined();
    expect(readFetchBody(requestOf("a", { "content-type": "text/plain" }), BOUNDS)).toBeUndefined();
    const compressed = { ...JSON_TYPE, "content-encoding": "gzip" };
    expect(readFetchBody(requestOf("{}", compressed), BOUNDS)).toBeUndefined();
    const used = requestOf("{}");
    await used.text();
    expect(readFetchBody(used, BOUNDS)).toBeUndefined();
    const locked = requestOf("{}");
    locked.body?.getReader();
    expect(readFetchBody(locked, BOUNDS)).toBeUndefined();
  });

  it("is undefined if it is malformed", async () => {
    expect(await readFetchBody(requestOf("{"), BOUNDS)).toBeUndefined();
  });
});
