import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { connectTo } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import {
  closedUrl,
  eventually,
  type GatewayFixture,
  startGateway,
  startRaw,
  startUpstream,
  stopAll,
} from "../../test/proxy-fixture.js";

afterEach(stopAll);

const LIMIT = 100_000;
const ESTIMATE = 1_000;
const OPENAI = "usage.total_tokens | response.usage.total_tokens";
const ANTHROPIC = [
  "usage.input_tokens | message.usage.input_tokens",
  "usage.output_tokens | message.usage.output_tokens",
];

function shape(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, "../../test/llm-shapes", name));
}

/** A rule that reserves an estimate, and settles it by the response's body. */
function tokens(settle: object, more: object = {}) {
  const limit = { fixedWindow: { limit: LIMIT, windowMs: 3_600_000, align: "first" } };
  return { id: "tokens", key: "ip", limit, cost: ESTIMATE, settle, ...more };
}

async function used({ core }: GatewayFixture): Promise<number> {
  const [state] = await core.policy.state({ method: "GET", path: "/", ip: "127.0.0.1" });
  return LIMIT - (state.remaining as number);
}

async function untilUsed(fixture: GatewayFixture, units: number): Promise<void> {
  await eventually(async () => (await used(fixture)) === units, `${units} units used`);
}

/** How often a cost stayed an estimate, by reason. */
async function estimates({ core }: GatewayFixture): Promise<Record<string, number>> {
  const lines = (await core.telemetry.metrics()).matchAll(
    /^rate_limiter_settle_estimates_total\{.*reason="([^"]*)".*\} (\d+)$/gm,
  );
  return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
}

function typeOf(name: string): string {
  if (name.endsWith(".ndjson")) return "application/x-ndjson";
  return name.endsWith(".sse") ? "text/event-stream; charset=utf-8" : "application/json";
}

/** Writes a body in pieces of a size, each as a packet of its own. */
async function writePieces(response: ServerResponse, body: Buffer, size: number): Promise<void> {
  for (let at = 0; at < body.length; at += size) {
    response.write(body.subarray(at, at + size));
    await new Promise(setImmediate);
  }
  response.end();
}

describe("a rule that settles by the response's JSON", () => {
  it.each([
    ["openai-chat.json", OPENAI, 46],
    ["openai-chat.sse", OPENAI, 46],
    ["openai-responses.json", OPENAI, 123],
    ["openai-responses.sse", OPENAI, 123],
    ["openai-responses-incomplete.sse", OPENAI, 100],
    ["anthropic-messages.json", ANTHROPIC, 40],
    ["anthropic-messages.sse", ANTHROPIC, 40],
    ["anthropic-messages-tools.sse", ANTHROPIC, 561],
    ["ollama-chat.ndjson", ["prompt_eval_count", "eval_count"], 308],
  ])("charges the tokens of %s, which arrives unchanged", async (name, json, total) => {
    const body = shape(name);
    for (const size of [1, 7, 64, 100_000]) {
      const upstream = await startUpstream((_request, response) => {
        response.setHeader("content-type", typeOf(name));
        void writePieces(response, body, size);
      });
      const fixture = await startGateway(upstream, { rules: [tokens({ json })] });
      const answer = await fetch(fixture.url);
      expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
      await untilUsed(fixture, total);
      expect(await estimates(fixture)).toEqual({});
    }
  });

  it("passes each event on as it comes, before the stream has ended", async () => {
    let end = () => {};
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write('data: {"usage":{"total_tokens":5}}\n\n');
      end = () => response.end('data: {"usage":{"total_tokens":7}}\n\n');
    });
    const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI })] });
    const reader = ((await fetch(fixture.url)).body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value as Uint8Array).toString()).toBe(
      'data: {"usage":{"total_tokens":5}}\n\n',
    );
    expect(await used(fixture)).toBe(ESTIMATE);
    end();
    while (!(await reader.read()).done);
    await untilUsed(fixture, 7);
  });

  it("holds back a backend that is faster than the client", async () => {
    const event = Buffer.from(`data: {"text":"${"x".repeat(16_000)}"}\n\n`);
    let written = 0;
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      const write = () => {
        while (written < 100_000_000 && response.write(event)) written += event.length;
      };
      response.on("drain", write);
      write();
    });
    const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI })] });
    const client = await connectTo(fixture.url);
    client.socket.pause();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let before = -1;
    let stalledLooks = 0;
    await eventually(() => {
      stalledLooks = written > 0 && written === before ? stalledLooks + 1 : 0;
      before = written;
      return stalledLooks === 10;
    }, "the backend to be held back");
    expect(written).toBeLessThan(50_000_000);
    client.end();
    await eventually(
      async () => (await estimates(fixture))["cut-short"] === 1,
      "a settled request",
    );
    expect(await used(fixture)).toBe(ESTIMATE);
  });

  it.each([
    ["missing", "application/json", '{"usage":null}'],
    ["missing", "application/json", '{"usage":{"total_tokens":"46"}}'],
    ["missing", "application/json", '{"usage":{"total_tokens":-1}}'],
    ["missing", "application/json", '{"usage":{"total_tokens":1.5}}'],
    ["missing", "application/json", '{"usage":{"total_tokens":1e400}}'],
    ["missing", "text/event-stream", "data: [DONE]\n\n"],
    ["malformed", "application/json", '{"usage":{"total_tokens":46}'],
    ["type", "text/html", '{"usage":{"total_tokens":46}}'],
    ["type", "application/json; charset=utf-16", '{"usage":{"total_tokens":46}}'],
    ["too-deep", "application/json", `{"usage":{"total_tokens":46},"a":${"[".repeat(600)}`],
  ])(
    "leaves what was reserved if the body can't say, and counts why: %s",
    async (why, type, body) => {
      const upstream = await startUpstream((_request, response) => {
        response.setHeader("content-type", type);
        response.end(body);
      });
      const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI })] });
      expect(await (await fetch(fixture.url)).text()).toBe(body);
      await eventually(async () => (await estimates(fixture))[why] === 1, `an estimate: ${why}`);
      expect(await used(fixture)).toBe(ESTIMATE);
    },
  );

  it("charges debt beyond what was reserved, and less than it", async () => {
    let total = 5_000;
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ usage: { total_tokens: total } }));
    });
    const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI })] });
    await (await fetch(fixture.url)).text();
    await untilUsed(fixture, 5_000);
    total = 0;
    await (await fetch(fixture.url)).text();
    await untilUsed(fixture, 5_000);
    const metrics = await fixture.core.telemetry.metrics();
    expect(metrics).toMatch(/^rate_limiter_settled_units_total\{.*outcome="reserved".*\} 2000$/m);
    expect(metrics).toMatch(/^rate_limiter_settled_units_total\{.*outcome="settled".*\} 5000$/m);
    expect(metrics).not.toContain("127.0.0.1");
  });
});

describe("compressed bodies", () => {
  it("are not asked for under such a rule, and are under others", async () => {
    const asked: (string | undefined)[] = [];
    const upstream = await startUpstream((request, response) => {
      asked.push(request.headers["accept-encoding"]);
      response.setHeader("content-type", "application/json");
      response.end('{"usage":{"total_tokens":46}}');
    });
    const match = { path: "/llm" };
    const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI }, { match })] });
    const client = await connectTo(fixture.url);
    for (const path of ["/llm", "/other", "/llm"]) {
      const named = "Connection: accept-encoding\r\n";
      client.send(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip, br\r\n${path === "/llm" ? named : ""}\r\n`,
      );
    }
    await eventually(() => asked.length === 3, "three requests at the backend");
    expect(asked).toEqual(["identity", "gzip, br", "identity"]);
    client.end();
  });

  it("that come all the same pass unchanged, and what was reserved stays", async () => {
    const body = gzipSync('{"usage":{"total_tokens":46}}');
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.setHeader("content-encoding", "gzip");
      response.end(body);
    });
    const fixture = await startGateway(upstream, { rules: [tokens({ json: OPENAI })] });
    expect(await (await fetch(fixture.url)).json()).toEqual({ usage: { total_tokens: 46 } });
    await eventually(async () => (await estimates(fixture)).encoding === 1, "an estimate");
    expect(await used(fixture)).toBe(ESTIMATE);
  });
});

describe("a response that is cut short", () => {
  /** Begins Anthropic's stream, whose first event has the tokens of the input, and does not end it. */
  async function startUnended(settle: object, input: number, more: object = {}) {
    const first = shape("anthropic-messages.sse").toString().split("\n\n")[0];
    const event = first.replace('"input_tokens": 25', `"input_tokens": ${input}`);
    const responses: ServerResponse[] = [];
    const upstream = await startUpstream((_request, response) => {
      responses.push(response);
      response.setHeader("content-type", "text/event-stream");
      response.write(`${event}\n\n`);
    });
    const fixture = await startGateway(upstream, { rules: [tokens(settle, more)] });
    const client = await connectTo(fixture.url);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.until((text) => text.includes("message_start"));
    return { fixture, client, responses };
  }

  it.each([
    ["what was reserved, by default", {}, 25, ESTIMATE],
    ["what was seen if that is more than was reserved", {}, 2_000, 2_001],
    ["what was seen, if the rule says so", { onAbort: "seen" }, 25, 26],
  ])("by its client costs %s", async (_, onAbort, input, expected) => {
    const { fixture, client } = await startUnended({ json: ANTHROPIC, ...onAbort }, input);
    client.end();
    await eventually(
      async () => /settled_units_total\{/.test(await fixture.core.telemetry.metrics()),
      "a settled request",
    );
    expect(await used(fixture)).toBe(expected);
    expect(await estimates(fixture)).toEqual(expected === ESTIMATE ? { "cut-short": 1 } : {});
  });

  it("by its backend costs the same", async () => {
    const seen = { json: ANTHROPIC, onAbort: "seen" };
    const { fixture, responses } = await startUnended(seen, 25);
    responses[0].destroy();
    await untilUsed(fixture, 26);
  });

  it("before anything was seen costs what was reserved, whatever the rule says", async () => {
    const seen = { json: "usage.total_tokens", onAbort: "seen" };
    const { fixture, client } = await startUnended(seen, 25);
    client.end();
    await eventually(async () => (await estimates(fixture))["cut-short"] === 1, "an estimate");
    expect(await used(fixture)).toBe(ESTIMATE);
  });
});

describe("a backend that fails", () => {
  const settle = { json: OPENAI };
  const when = { statusNot: "5xx" };
  const sends500 = () =>
    startUpstream((_request, response) => {
      response.statusCode = 500;
      response.setHeader("content-type", "application/json");
      response.end('{"error":{"type":"server_error"}}');
    });
  const resets = () => startRaw((socket) => socket.destroy());

  it.each([
    ["with a status that the rule does not count costs nothing", sends500, { when }, 0, {}],
    ["with a status that counts leaves what was reserved", sends500, {}, ESTIMATE, { missing: 1 }],
    ["without a response costs nothing if the rule does not count a 502", resets, { when }, 0, {}],
    ["without a response leaves what was reserved", resets, {}, ESTIMATE, { "no-response": 1 }],
    ["to be reached leaves what was reserved", closedUrl, {}, ESTIMATE, { "no-response": 1 }],
  ])("%s", async (_, start, more, expected, reasons) => {
    const fixture = await startGateway(await start(), { rules: [tokens(settle, more)] });
    expect((await fetch(fixture.url)).status).toBeGreaterThanOrEqual(500);
    await eventually(
      async () => /settled_units_total\{/.test(await fixture.core.telemetry.metrics()),
      "a settled request",
    );
    expect(await used(fixture)).toBe(expected);
    expect(await estimates(fixture)).toEqual(reasons);
  });
});

describe("a cost in the request's JSON body", () => {
  it.each([
    ["what the body says", '{"max_tokens":250}', 250],
    ["the first alternative that is there", '{"max_tokens":250,"max_completion_tokens":300}', 300],
    ["no more than max", '{"max_tokens":1e308}', 5_000],
    ["no more than max, where a double holds no such number", '{"max_tokens":1e400}', 5_000],
    ["no less than min", '{"max_tokens":0}', 10],
    ["the last of two", '{"max_tokens":1,"max_tokens":400}', 400],
    ["otherwise: a string", '{"max_tokens":"250"}', 700],
    ["otherwise: negative", '{"max_tokens":-250}', 700],
    ["otherwise: not whole", '{"max_tokens":2.5}', 700],
    ["otherwise: not a number of JSON", '{"max_tokens":NaN}', 700],
    ["otherwise: nested", '{"max_tokens":{"max_tokens":250}}', 700],
    ["otherwise: in a list", '[{"max_tokens":250}]', 700],
    ["otherwise: inherited", '{"__proto__":{"max_tokens":250}}', 700],
    ["otherwise: too large a body", `{"max_tokens":250,"x":"${"x".repeat(20_000)}"}`, 700],
    ["otherwise: no body", undefined, 700],
  ])("reserves %s", async (_, body, reserved) => {
    const upstream = await startUpstream((request, response) => {
      request.resume();
      request.on("end", () => response.write("part"));
    });
    const cost = {
      json: "max_completion_tokens | max_tokens",
      min: 10,
      max: 5_000,
      otherwise: 700,
    };
    const rule = tokens({ json: OPENAI }, { cost });
    const fixture = await startGateway(upstream, { rules: [rule] });
    const headers = { "content-type": "application/json" };
    const gone = new AbortController();
    const { signal } = gone;
    await fetch(fixture.url, { method: "POST", headers, body: body ?? null, signal });
    expect(await used(fixture)).toBe(reserved);
    gone.abort();
  });
});
