import { createWriteStream, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { createRequire } from "node:module";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import express from "express";
import fc from "fast-check";
import Koa from "koa";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { BodyBounds, BodyFields } from "./body.js";
import { readNodeBody } from "./node-body.js";

// It has no types of its own; for what is used here, those of Express 5 hold.
const express4: typeof express = createRequire(import.meta.url)("express4");

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

const BOUNDS: BodyBounds = { bytesMax: 16_384, arrivalMsMax: 5_000, clock: systemClock };
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listen(handler: Handler): Promise<number> {
  const server = createServer(handler as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Reads ahead, then lets `next` read the body, and answers with what both saw. */
function reading(next: (request: IncomingMessage) => Promise<string>, bounds = BOUNDS): Handler {
  return async (req, res) => {
    const fields = await readNodeBody(req, bounds);
    res.end(JSON.stringify({ fields, body: await next(req) }));
  };
}

interface Seen {
  readonly fields?: BodyFields;
  readonly body: unknown;
}

/** Ways in which applications read a body. */
const READERS: Record<string, (request: IncomingMessage) => Promise<string>> = {
  "for await": async (req) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  },
  "data and end": (req) =>
    new Promise((resolve) => {
      const chunks: Buffer[] = [];
      req
        .on("data", (chunk) => chunks.push(chunk))
        .on("end", () => resolve(Buffer.concat(chunks).toString()));
    }),
  "data and end, a turn later": async (req) => {
    await new Promise((resolve) => setImmediate(resolve));
    return (READERS["data and end"] as (req: IncomingMessage) => Promise<string>)(req);
  },
  "readable and read": (req) =>
    new Promise((resolve) => {
      let text = "";
      req.on("readable", () => {
        for (let chunk = req.read(); chunk !== null; chunk = req.read())
          text += chunk.toString("latin1");
      });
      req.on("end", () => resolve(Buffer.from(text, "latin1").toString()));
    }),
  "setEncoding and data": (req) =>
    new Promise((resolve) => {
      let text = "";
      req.setEncoding("utf8");
      req.on("data", (chunk) => {
        text += chunk;
      });
      req.on("end", () => resolve(text));
    }),
  "a pipeline to a file": async (req) => {
    const folder = makeFolder("body");
    await pipeline(req, createWriteStream(join(folder, "body")));
    const text = readFileSync(join(folder, "body"), "utf8");
    return text;
  },
};

/** A POST written byte by byte as the test says: each piece is a write of its own. */
async function post(port: number, pieces: readonly (string | Buffer)[], head = ""): Promise<Seen> {
  const socket = connect(port, "127.0.0.1").setNoDelay();
  const answer = answerOf(socket);
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${head}`);
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(piece);
  }
  const text = await answer;
  return JSON.parse(text.slice(text.indexOf("{")));
}

function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("end", () => resolve(text)).on("error", reject);
  });
}

const JSON_TYPE = "Content-Type: application/json\r\n";

function withLength(body: string, type = JSON_TYPE): string {
  return `${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
}

function toChunk(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text as string);
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
}

const CHUNKED = `${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`;
const BODY = JSON.stringify({ account: "ann", note: "é".repeat(50) });
const FIELDS = JSON.parse(BODY);

describe.each(Object.entries(READERS))(
  "a body that was read ahead is whole for %s",
  (_, reader) => {
    it("in one piece with the head", async () => {
      const port = await listen(reading(reader));
      expect(await post(port, [`${withLength(BODY)}${BODY}`])).toEqual({
        fields: FIELDS,
        body: BODY,
      });
      expect(await post(port, [`${CHUNKED}${toChunk(BODY)}0\r\n\r\n`])).toEqual({
        fields: FIELDS,
        body: BODY,
      });
    });

    it("one byte at a time", async () => {
      const port = await listen(reading(reader));
      const bytes = [...Buffer.from(BODY)].map((byte) => Buffer.of(byte));
      expect(await post(port, bytes, withLength(BODY))).toEqual({ fields: FIELDS, body: BODY });
      const chunks = [...bytes.map(toChunk), "0\r\n\r\n"];
      expect(await post(port, chunks, CHUNKED)).toEqual({ fields: FIELDS, body: BODY });
    });

    it("with its end in a piece of its own", async () => {
      const port = await listen(reading(reader));
      const seen = await post(port, [toChunk(BODY), "0\r\n", "\r\n"], CHUNKED);
      expect(seen).toEqual({ fields: FIELDS, body: BODY });
    });

    it("if it is empty", async () => {
      const port = await listen(reading(reader));
      expect(await post(port, [`${CHUNKED}0\r\n\r\n`])).toEqual({ body: "" });
      expect(await post(port, ["0\r\n\r\n"], CHUNKED)).toEqual({ body: "" });
      expect(await post(port, [withLength("")])).toEqual({ body: "" });
      expect(await post(port, ["\r\n"])).toEqual({ body: "" });
    });

    it("if it was there, empty, before it was asked for", async () => {
      const port = await listen(async (req, res) => {
        await new Promise((resolve) => setImmediate(resolve));
        return reading(reader)(req, res);
      });
      expect(await post(port, [`${CHUNKED}0\r\n\r\n`])).toEqual({ body: "" });
    });

    it("if it is too large, said or not", async () => {
      const large = JSON.stringify({ account: "ann", note: "x".repeat(200_000) });
      const port = await listen(reading(reader));
      expect(await post(port, [`${withLength(large)}${large}`])).toEqual({ body: large });
      const halves = [large.slice(0, 9_000), large.slice(9_000)].map(toChunk);
      expect(await post(port, [...halves, "0\r\n\r\n"], CHUNKED)).toEqual({ body: large });
    });
  },
);

describe("a body that was read ahead", () => {
  const readAll = READERS["for await"] as (request: IncomingMessage) => Promise<string>;

  it("is whole in every chunking", async () => {
    const port = await listen(reading(readAll));
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.boolean(), async (sizes, isChunked) => {
        const bytes = Buffer.from(BODY);
        const pieces: Buffer[] = [];
        let at = 0;
        for (let i = 0; at < bytes.length; i++) {
          pieces.push(bytes.subarray(at, at + sizes[i % sizes.length]));
          at += sizes[i % sizes.length];
        }
        const seen = isChunked
          ? await post(port, [...pieces.map(toChunk), "0\r\n\r\n"], CHUNKED)
          : await post(port, pieces, withLength(BODY));
        expect(seen).toEqual({ fields: FIELDS, body: BODY });
      }),
      { numRuns: 25 },
    );
  });

  it("is read for exactly bytesMax and not for one more", async () => {
    const port = await listen(reading(readAll, { ...BOUNDS, bytesMax: 10 }));
    const fits = '{"a":"bc"}';
    const over = '{"a":"bcd"}';
    expect(await post(port, [withLength(fits) + fits])).toEqual({
      fields: { a: "bc" },
      body: fits,
    });
    expect(await post(port, [withLength(over) + over])).toEqual({ body: over });
    const end = "0\r\n\r\n";
    expect(await post(port, [toChunk(fits), end], CHUNKED)).toEqual({
      fields: { a: "bc" },
      body: fits,
    });
    expect(await post(port, [toChunk(over), end], CHUNKED)).toEqual({ body: over });
  });

  it("may be a form", async () => {
    const port = await listen(reading(readAll));
    const form = "account=ann&password=x";
    const head = withLength(form, "Content-Type: application/x-www-form-urlencoded\r\n");
    expect((await post(port, [form], head)).fields).toEqual({ account: "ann", password: "x" });
  });

  it.each([
    ["compressed", `${JSON_TYPE}Content-Encoding: gzip\r\n`],
    ["of another type", "Content-Type: text/plain\r\n"],
    ["of no type", ""],
  ])("is not touched if it is %s", async (_, head) => {
    const port = await listen(reading(readAll));
    expect(await post(port, [BODY], withLength(BODY, head))).toEqual({ body: BODY });
  });

  it("is returned as it is if it is malformed", async () => {
    const port = await listen(reading(readAll));
    expect(await post(port, ["{oops"], withLength("{oops"))).toEqual({ body: "{oops" });
  });

  it("comes after a client was asked to continue", async () => {
    const port = await listen(reading(readAll));
    const seen = await new Promise<Seen>((resolve, reject) => {
      const headers = { "content-type": "application/json", expect: "100-continue" };
      const outgoing = request(
        { port, host: "127.0.0.1", method: "POST", headers },
        async (res) => {
          let text = "";
          for await (const chunk of res) text += chunk;
          resolve(JSON.parse(text));
        },
      );
      outgoing.on("continue", () => outgoing.end(BODY)).on("error", reject);
      outgoing.flushHeaders();
    });
    expect(seen).toEqual({ fields: FIELDS, body: BODY });
  });

  it("is waited for until arrivalMsMax, and what came is returned", async () => {
    const clock = new ManualClock();
    let begun = () => {};
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const port = await listen(async (req, res) => {
      const fields = readNodeBody(req, { ...BOUNDS, arrivalMsMax: 100, clock });
      req.once("readable", () => setImmediate(begun));
      res.end(JSON.stringify({ late: (await fields) === undefined, body: await readAll(req) }));
    });
    const socket = connect(port, "127.0.0.1");
    const answer = answerOf(socket);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${withLength(BODY)}`);
    socket.write(BODY.slice(0, 10));
    await isBegun;
    clock.advance(99);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1);
    socket.write(BODY.slice(10));
    const text = await answer;
    expect(JSON.parse(text.slice(text.indexOf("{")))).toEqual({ late: true, body: BODY });
  });

  it("is given up when the client is gone", async () => {
    const reads: unknown[] = [];
    const port = await listen((req) => {
      reads.push(readNodeBody(req, { ...BOUNDS, clock: new ManualClock() }));
      socket.destroy();
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${withLength(BODY)}${BODY.slice(0, 5)}`);
    await expect.poll(() => reads.length).toBe(1);
    expect(await reads[0]).toBeUndefined();
  });

  it("is read once, however many ask", async () => {
    const port = await listen(async (req, res) => {
      const [one, two] = await Promise.all([readNodeBody(req, BOUNDS), readNodeBody(req, BOUNDS)]);
      const three = await readNodeBody(req, BOUNDS);
      res.end(JSON.stringify({ fields: [one, two, three], body: await readAll(req) }));
    });
    const seen = await post(port, [BODY], withLength(BODY));
    expect(seen).toEqual({ fields: [FIELDS, FIELDS, FIELDS], body: BODY });
  });

  it("is left to who reads it already, or has read it", async () => {
    const port = await listen(async (req, res) => {
      const body = (READERS["data and end"] as (req: IncomingMessage) => Promise<string>)(req);
      const during = readNodeBody(req, BOUNDS) === undefined;
      const text = await body;
      const after = readNodeBody(req, BOUNDS) === undefined;
      res.end(JSON.stringify({ fields: { during, after }, body: text }));
    });
    const seen = await post(port, [BODY], withLength(BODY));
    expect(seen).toEqual({ fields: { during: true, after: true }, body: BODY });
  });

  it("is left to who has begun to read it", async () => {
    const port = await listen(async (req, res) => {
      await new Promise((resolve) => req.once("readable", resolve));
      const first = req.read(5).toString();
      const isLeft = readNodeBody(req, BOUNDS) === undefined;
      res.end(JSON.stringify({ fields: { isLeft }, body: first + (await readAll(req)) }));
    });
    const seen = await post(port, [BODY], withLength(BODY));
    expect(seen).toEqual({ fields: { isLeft: true }, body: BODY });
  });

  it("does not hold up the next request if it is not read", async () => {
    const port = await listen(async (req, res) => {
      await readNodeBody(req, { ...BOUNDS, bytesMax: 100 });
      res.end("{}");
    });
    const socket = connect(port, "127.0.0.1");
    const answer = answerOf(socket);
    const large = "x".repeat(300_000);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${CHUNKED}`);
    for (let i = 0; i < 3; i++) socket.write(toChunk(large));
    socket.write("0\r\n\r\n");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect((await answer).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });
});

describe("frameworks find their body", () => {
  it.each([
    ["5", express],
    ["4", express4],
  ])("in Express %s", async (_, make) => {
    const app = make();
    app.use(
      async (req: IncomingMessage & { fields?: unknown }, _res: unknown, next: () => void) => {
        req.fields = await readNodeBody(req, BOUNDS);
        next();
      },
    );
    app.use(make.json(), make.urlencoded({ extended: true }));
    app.post(
      "/",
      (req: { fields?: unknown; body: unknown }, res: { json(value: unknown): void }) => {
        res.json({ fields: req.fields, body: req.body });
      },
    );
    const port = await listen(app as never);
    const bytes = [...Buffer.from(BODY)].map((byte) => Buffer.of(byte));
    expect(await post(port, bytes, withLength(BODY))).toEqual({ fields: FIELDS, body: FIELDS });
    expect(await post(port, [toChunk(BODY), "0\r\n\r\n"], CHUNKED)).toEqual({
      fields: FIELDS,
      body: FIELDS,
    });
  });

  it("if Express has parsed it before, without reading it again", async () => {
    const app = express();
    app.use(express.json());
    app.post("/", async (req, res) => {
      const fields = readNodeBody(req, BOUNDS);
      res.json({ fields, body: req.body });
    });
    const port = await listen(app as never);
    expect(await post(port, [BODY], withLength(BODY))).toEqual({ fields: FIELDS, body: FIELDS });
  });

  it("in Koa", async () => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      ctx.state.fields = await readNodeBody(ctx.req, BOUNDS);
      await next();
    });
    app.use(async (ctx) => {
      const body = await (READERS["for await"] as (req: IncomingMessage) => Promise<string>)(
        ctx.req,
      );
      ctx.body = { fields: ctx.state.fields, body };
    });
    const port = await listen(app.callback());
    expect(await post(port, [BODY], withLength(BODY))).toEqual({ fields: FIELDS, body: BODY });
  });

  it.each([[0], [1], [20]])("over HTTP/2, in pieces with %i turns between", async (turns) => {
    const server = createHttp2Server(reading(READERS["data and end"] as never) as never);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    closers.push(() => {
      session.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    const stream = session.request({ ":method": "POST", "content-type": "application/json" });
    for (const piece of [BODY.slice(0, 20), BODY.slice(20)]) {
      stream.write(piece);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    stream.end();
    let text = "";
    for await (const chunk of stream) text += chunk;
    expect(JSON.parse(text)).toEqual({ fields: FIELDS, body: BODY });
  });
});
