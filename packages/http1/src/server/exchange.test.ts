// Responses as they go out: framing, what is sent about the connection, and what may have no body.

import { describe, expect, it } from "vitest";
import { type Served, serve, settle, Wire } from "../../test/wire.js";
import type { Exchange } from "./exchange.js";
import { RepeatedReply } from "./repeated-reply.js";

/** Sends a request and answers it; what went out, and whether the connection was closed. */
async function answer(
  text: string,
  onExchange: (exchange: Exchange) => void,
  prepare: (served: Served) => void = () => {},
) {
  const wire = new Wire();
  prepare(serve(wire, { onExchange }));
  wire.arrive(text);
  await settle();
  return { text: wire.written, isClosed: wire.writableEnded || wire.destroyed };
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD = GET.replace("GET", "HEAD");
const OLD = GET.replace("1.1", "1.0");
const OLD_KEPT = OLD.replace("\r\n\r\n", "\r\nConnection: keep-alive\r\n\r\n");
const CLOSE = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");

const reply = (status: number, body: string) => (exchange: Exchange) =>
  exchange.reply(status, "X: y\r\n", body);
const pass = (status: number, bytes: string) => (exchange: Exchange) =>
  exchange.pass(status, "Fine", "X: y\r\n", bytes, true);

/** Begins an answer, writes pieces and ends it. */
function stream(status: number, length: number | undefined, ...pieces: readonly string[]) {
  return (exchange: Exchange) => {
    exchange.begin(status, "Fine", "X: y\r\n", length, false);
    for (const piece of pieces) exchange.write(Buffer.from(piece));
    exchange.end();
  };
}

const KEEP = "Connection: keep-alive\r\n";
const DATE = "Date: today\r\n";

describe("a whole answer", () => {
  it.each([
    // request, answer, what goes out behind the fields, whether the connection is closed
    [GET, reply(200, "abc"), `200 OK\r\nX: y\r\n${DATE}${KEEP}Content-Length: 3\r\n\r\nabc`, false],
    [GET, reply(200, ""), `200 OK\r\nX: y\r\n${DATE}${KEEP}Content-Length: 0\r\n\r\n`, false],
    [HEAD, reply(200, "abc"), `200 OK\r\nX: y\r\n${DATE}${KEEP}Content-Length: 3\r\n\r\n`, false],
    [GET, reply(204, ""), `204 No Content\r\nX: y\r\n${DATE}${KEEP}\r\n`, false],
    // A connection that stays open need not say so with each refusal.
    [
      GET,
      reply(429, "abc"),
      `429 Too Many Requests\r\nX: y\r\n${DATE}Content-Length: 3\r\n\r\nabc`,
      false,
    ],
    [
      CLOSE,
      reply(200, "a"),
      `200 OK\r\nX: y\r\n${DATE}Connection: close\r\nContent-Length: 1\r\n\r\na`,
      true,
    ],
    [
      OLD,
      reply(200, "a"),
      `200 OK\r\nX: y\r\n${DATE}Connection: close\r\nContent-Length: 1\r\n\r\na`,
      true,
    ],
    [
      OLD_KEPT,
      reply(200, "a"),
      `200 OK\r\nX: y\r\n${DATE}${KEEP}Content-Length: 1\r\n\r\na`,
      false,
    ],
    [
      OLD_KEPT,
      reply(429, "a"),
      `429 Too Many Requests\r\nX: y\r\n${DATE}${KEEP}Content-Length: 1\r\n\r\na`,
      false,
    ],
    [GET, pass(200, "\xe9"), `200 Fine\r\nX: y\r\n${KEEP}Content-Length: 1\r\n\r\n\xe9`, false],
  ] as const)("%#", async (text, onExchange, out, isClosed) => {
    expect(await answer(text, onExchange)).toEqual({ text: `HTTP/1.1 ${out}`, isClosed });
  });

  it("of other letters than ASCII is as long as its bytes", async () => {
    const body = "caf\u00e9 \u{1f980}";
    const { text } = await answer(GET, reply(200, body));
    expect(text).toContain("\r\nContent-Length: 10\r\n");
    expect(Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1").toString()).toBe(body);
    expect((await answer(HEAD, reply(200, body))).text).toMatch(/Content-Length: 10\r\n\r\n$/);
  });

  it("closes the connection while the server drains", async () => {
    const { text, isClosed } = await answer(GET, reply(200, "a"), (served) => served.drain());
    expect(text).toContain("\r\nConnection: close\r\n");
    expect(isClosed).toBe(true);
  });
});

describe("a repeated answer", () => {
  const POST_OPEN = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

  it.each(
    [200, 204, 429].flatMap((status) =>
      ["", "abc", "caf\u00e9 \u{1f980}"].map((body) => [status, body] as const),
    ),
  )("goes out as a whole answer does, whatever the request: %d, %j", async (status, body) => {
    const repeated = new RepeatedReply(status, "X: y\r\n", body);
    // Twice each, so that those before and after one that differs are repeated too.
    for (const text of [GET, GET, HEAD, OLD, OLD_KEPT, CLOSE, POST_OPEN, GET, HEAD, GET]) {
      const whole = await answer(text, reply(status, body));
      expect(await answer(text, (exchange) => exchange.repeat(repeated))).toEqual(whole);
    }
    const drain = (served: Served) => served.drain();
    const drained = await answer(GET, reply(status, body), drain);
    expect(await answer(GET, (exchange) => exchange.repeat(repeated), drain)).toEqual(drained);
  });

  it("has the date of its response, not of the first", async () => {
    const repeated = new RepeatedReply(429, "", "a");
    const dates: (string | undefined)[] = [];
    for (const date of ["Date: today\r\n", "Date: tomorrow\r\n", "Date: tomorrow\r\n"]) {
      const { text } = await answer(GET, (exchange) => {
        (exchange.connection.server as { dateLine: () => string }).dateLine = () => date;
        exchange.repeat(repeated);
      });
      dates.push(/Date: (\w+)/.exec(text)?.[1]);
    }
    expect(dates).toEqual(["today", "tomorrow", "tomorrow"]);
  });

  it("is the status and the end of its exchange", async () => {
    const repeated = new RepeatedReply(429, "", "a");
    for (let i = 0; i < 2; i++) {
      await answer(GET, (exchange) => {
        exchange.repeat(repeated);
        expect([exchange.status, exchange.isEnded]).toEqual([429, true]);
      });
    }
  });
});

describe("an answer in pieces", () => {
  it.each([
    [
      GET,
      stream(200, undefined, "ab", "c"),
      `${KEEP}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`,
      false,
    ],
    [GET, stream(200, undefined), `${KEEP}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, false],
    [GET, stream(200, 3, "ab", "c"), `${KEEP}Content-Length: 3\r\n\r\nabc`, false],
    [HEAD, stream(200, undefined), `${KEEP}\r\n`, false],
    [HEAD, stream(200, 3), `${KEEP}Content-Length: 3\r\n\r\n`, false],
    [GET, stream(204, undefined), `${KEEP}\r\n`, false],
    [GET, stream(304, undefined), `${KEEP}\r\n`, false],
    [GET, stream(304, 3), `${KEEP}Content-Length: 3\r\n\r\n`, false],
    // Before HTTP/1.1 a body without a length ends with its connection.
    [OLD_KEPT, stream(200, undefined, "ab"), "Connection: close\r\n\r\nab", true],
    [OLD_KEPT, stream(200, 2, "ab"), `${KEEP}Content-Length: 2\r\n\r\nab`, false],
    [OLD, stream(200, 2, "ab"), "Connection: close\r\nContent-Length: 2\r\n\r\nab", true],
    [
      CLOSE,
      stream(200, undefined, "a"),
      "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
      true,
    ],
  ] as const)("%#", async (text, onExchange, out, isClosed) => {
    const answered = await answer(text, onExchange);
    expect(answered.text.slice(answered.text.indexOf(DATE))).toBe(DATE + out);
    expect(answered.isClosed).toBe(isClosed);
  });

  it("that breaks off has no end that looks like one", async () => {
    const { text, isClosed } = await answer(GET, (exchange) => {
      exchange.begin(200, "Fine", "", undefined, false);
      exchange.write(Buffer.from("ab"));
      exchange.breakOff();
    });
    expect(text).toMatch(/\r\n\r\n2\r\nab\r\n$/);
    expect(isClosed).toBe(true);
  });
});

describe("an answer before the whole request", () => {
  const post = (fields: string, body: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n${body}`;

  it("keeps the connection if little is left of it, and the next request is found behind it", async () => {
    const wire = new Wire();
    const seen: string[] = [];
    serve(wire, {
      onExchange: (exchange) => {
        seen.push(exchange.target);
        exchange.reply(200, "", "");
      },
    });
    wire.arrive(post("Content-Length: 50\r\n", GET));
    await settle();
    expect(wire.written).toContain("keep-alive");
    wire.arrive(`${"x".repeat(50 - GET.length)}${GET.replace("/", "/next")}`);
    await settle();
    expect(seen).toEqual(["/", "/next"]);
  });

  it.each([
    ["Content-Length: 65537\r\n", ""],
    ["Transfer-Encoding: chunked\r\n", "1\r\n"],
    ["Content-Length: 5\r\nExpect: 100-continue\r\n", ""],
  ])("closes it if too much is left, or an unknown amount: %j", async (fields, body) => {
    const { text, isClosed } = await answer(post(fields, body), reply(200, ""));
    expect(text).toContain("Connection: close\r\n");
    expect(isClosed).toBe(true);
  });

  it("sends 100 Continue once, and only to a client that waits for it", async () => {
    const letSend = (exchange: Exchange) => {
      exchange.sendContinue();
      exchange.sendContinue();
    };
    const expecting = "Content-Length: 2\r\nExpect: 100-continue\r\n";
    const { text } = await answer(post(expecting, ""), letSend);
    expect(text).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    for (const other of [
      post(expecting, "ab"),
      post(expecting, "").replace("1.1", "1.0"),
      post("Content-Length: 2\r\n", ""),
    ]) {
      expect((await answer(other, letSend)).text).toBe("");
    }
  });
});
