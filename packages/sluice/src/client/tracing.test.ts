import { type Span, type SpanOptions, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "./fetch/create-fetch.js";

afterEach(() => trace.disable());

/** An SDK of a few lines, registered where the real one registers. */
function registerSdk() {
  const spans: { name: string; options: SpanOptions; said: Record<string, unknown> }[] = [];
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: (name: string, options: SpanOptions = {}) => {
        const said: Record<string, unknown> = {};
        spans.push({ name, options, said });
        return {
          setAttribute: (key: string, value: unknown) => {
            said[key] = value;
          },
          setStatus: ({ code }: { code: number }) => {
            said.code = code;
          },
          end: () => {
            said.isEnded = true;
          },
        } as unknown as Span;
      },
      startActiveSpan: () => {
        throw new Error("not used");
      },
    }),
  });
  return spans;
}

const answers = [429, new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }), 200];

function ask() {
  let next = 0;
  const fetch = createFetch({
    backoffMs: 1,
    pace: false,
    fetch: async () => {
      const answer = answers[next++];
      if (typeof answer !== "number") throw answer;
      return new Response("", { status: answer });
    },
  });
  return fetch("https://api.example.com/secret?token=secret");
}

describe("spans", () => {
  it("are of one attempt each, with what came of it, and without paths", async () => {
    const spans = registerSdk();
    await ask();
    expect(spans.map(({ name, options }) => [name, options.kind])).toEqual(
      Array(3).fill(["GET", 2]),
    );
    expect(spans.map(({ said }) => said)).toEqual([
      { "http.response.status_code": 429, code: 2, isEnded: true },
      { "error.type": "TypeError", code: 2, isEnded: true },
      { "http.response.status_code": 200, isEnded: true },
    ]);
    expect(spans.map(({ options }) => options.attributes?.["http.request.resend_count"])).toEqual([
      undefined,
      1,
      2,
    ]);
    expect(spans[0]?.options.attributes?.["server.address"]).toBe("api.example.com");
    expect(JSON.stringify(spans)).not.toContain("secret");
  });

  it("of an SDK that throws change nothing: the request is answered, and leaves its place", async () => {
    const broken = () => {
      throw new Error("no tracer");
    };
    const noSpan = { setAttribute: broken, setStatus: broken, end: broken };
    for (const startSpan of [broken, () => noSpan as unknown as Span]) {
      trace.disable();
      trace.setGlobalTracerProvider({
        getTracer: () => ({ startSpan, startActiveSpan: broken }),
      });
      const fetch = createFetch({ fetch: async () => new Response("ok") });
      for (let i = 0; i < 20; i++) expect((await fetch("https://a.example")).status).toBe(200);
      expect(fetch.stats.inFlight).toBe(0);
    }
  });

  it("have no server where the URL has none", async () => {
    const spans = registerSdk();
    const fetch = createFetch();
    expect(await (await fetch("data:,hello")).text()).toBe("hello");
    expect(spans[0]?.options.attributes).toEqual({ "http.request.method": "GET" });
    expect(fetch.stats.inFlight).toBe(0);
  });

  it("are not made where no SDK is registered", async () => {
    expect((await ask()).status).toBe(200);
  });
});
