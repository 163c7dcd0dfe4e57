import {
  createServer,
  type IncomingMessage,
  type ServerOptions,
  ServerResponse,
  request as send,
} from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { toLines } from "../../response/response-headers.js";
import { sendNodeReply } from "./node-exchange.js";
import { joinHead, readField, watchHead } from "./response-head.js";

const OURS = ["RateLimit", '"r";r=2;t=60', "X-RateLimit-Limit", "3"];
const running: { close(): unknown; closeAllConnections?(): void }[] = [];
afterEach(() => {
  for (const server of running.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});

type Handle = (response: ServerResponse, request: IncomingMessage) => void;

async function serve(handle: Handle, options: ServerOptions = {}): Promise<number> {
  const server = createServer(options as object, (request, response) =>
    handle(response as ServerResponse, request),
  );
  running.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

/** One request, with the raw head of its response: names as they were sent, and each line apart. */
async function call(handle: Handle, method = "GET", options: ServerOptions = {}) {
  const port = await serve(handle, options);
  const response = await new Promise<IncomingMessage>((done, fail) => {
    send({ port, host: "127.0.0.1", method, agent: false }, done).on("error", fail).end();
  });
  const body = await text(response);
  const lines: [string, string][] = [];
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    lines.push([response.rawHeaders[i], response.rawHeaders[i + 1]]);
  }
  return { response, body, lines, of: (name: string) => valuesOf(lines, name) };
}

function valuesOf(lines: readonly [string, string][], name: string): string[] {
  return lines.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
}

/** Ways in which a handler answers, each with another spelling of one of our names. */
const WAYS: [string, Handle][] = [
  ["end alone", (response) => response.end("hello")],
  [
    "setHeader",
    (response) => {
      response.setHeader("x-ratelimit-limit", "1000");
      response.end("hello");
    },
  ],
  [
    "writeHead with an object",
    (response) => response.writeHead(200, { RATELIMIT: "own" }).end("hello"),
  ],
  [
    "writeHead with a message and an object",
    (response) => response.writeHead(200, "Fine", { ratelimit: "own" }).end("hello"),
  ],
  [
    "writeHead with names and values in turn",
    (response) => response.writeHead(200, ["ratelimit", "own", "X-Own", "yes"]).end("hello"),
  ],
  [
    "writeHead with pairs",
    (response) => response.writeHead(200, [["ratelimit", "own"]] as never).end("hello"),
  ],
  [
    "setHeader and writeHead",
    (response) => {
      response.setHeader("RateLimit", "own");
      response.writeHead(200, { "X-RateLimit-Limit": "1000" }).end("hello");
    },
  ],
  [
    "flushHeaders before the body",
    (response) => {
      response.flushHeaders();
      response.end("hello");
    },
  ],
  [
    "pieces",
    (response) => {
      response.write("hel");
      response.end("lo");
    },
  ],
];

/** The text of a head is appended to, other kinds of responses get headers. */
const KINDS: [string, ServerOptions][] = [
  ["a plain response", {}],
  [
    "a response of another class",
    { ServerResponse: class Other extends ServerResponse {} as never },
  ],
];

describe("a response that a framework takes over after the first limit", () => {
  it("has the headers of that limit and of the framework's own", async () => {
    const { of } = await call((response) => {
      joinHead(response, toLines(["RateLimit", '"outer";r=1']));
      Object.setPrototypeOf(response, Object.create(ServerResponse.prototype));
      joinHead(response, toLines(["RateLimit", '"inner";r=2']));
      response.end("hello");
    });
    expect(of("ratelimit")).toEqual(['"outer";r=1, "inner";r=2']);
  });

  it("shows what its handler passed to writeHead, if it is watched", async () => {
    let cost: string | undefined;
    const { of } = await call((response) => {
      joinHead(response, toLines(OURS));
      Object.setPrototypeOf(response, Object.create(ServerResponse.prototype));
      watchHead(response);
      response.writeHead(200, { "X-Cost": "7" }).end("hello");
      cost = readField(response, "x-cost");
    });
    expect([cost, of("ratelimit")]).toEqual(["7", ['"r";r=2;t=60']]);
  });
});

describe("a response whose head is wrapped between two limits", () => {
  it("keeps the headers of both limits and of what is wrapped around the first", async () => {
    type Store = (this: ServerResponse, firstLine: string, given: unknown) => void;
    const { of } = await call((response) => {
      joinHead(response, toLines(["RateLimit", '"outer";r=1']));
      const carrier = response as unknown as { _storeHeader: Store };
      const { _storeHeader: store } = carrier;
      carrier._storeHeader = function (firstLine, given) {
        store.call(this, `${firstLine}X-Wrapper: yes\r\n`, given);
      };
      joinHead(response, toLines(["RateLimit", '"inner";r=2']));
      response.end("hello");
    });
    expect(of("ratelimit")).toEqual(['"outer";r=1, "inner";r=2']);
    expect(of("x-wrapper")).toEqual(["yes"]);
  });
});

describe("a request with two responses", () => {
  it("does not change headers whose names only begin like ours", async () => {
    const { body, of } = await call((response) => {
      joinHead(response, toLines(["RateLimit", "ours"]));
      response.setHeader("X-RateLimit-Own", "own");
      response.setHeader("Content-Length", "5");
      response.end("hello");
    });
    expect(body).toBe("hello");
    expect(of("x-ratelimit-own")).toEqual(["own"]);
    expect(of("content-length")).toEqual(["5"]);
    expect(of("ratelimit")).toEqual(["ours"]);
  });

  it("has our headers on the one that they were put on", async () => {
    let others = "";
    const { of } = await call((response, request) => {
      joinHead(response, toLines(OURS));
      const other = new ServerResponse(request);
      other.writeHead(200);
      others = (other as unknown as { _header: string })._header;
      response.end();
    });
    expect(of("ratelimit")).toEqual(['"r";r=2;t=60']);
    expect(others).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(others).not.toContain("RateLimit");
  });
});

describe.each(KINDS)("the head of %s", (_kind, options) => {
  it.each(WAYS)(
    "carries our headers once and replaces a handler's own: %s",
    async (_way, answer) => {
      const { of, body, response } = await call(
        (response) => {
          joinHead(response, toLines(OURS));
          answer(response, response.req);
        },
        "GET",
        options,
      );
      expect(response.statusCode).toBe(200);
      expect(of("ratelimit")).toEqual(['"r";r=2;t=60']);
      expect(of("x-ratelimit-limit")).toEqual(["3"]);
      expect(body).toBe("hello");
    },
  );

  it.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ])("carries them where there is no body: %s %d", async (method, status) => {
    const { of, body } = await call(
      (response) => {
        joinHead(response, toLines(OURS));
        response.writeHead(status).end();
      },
      method,
      options,
    );
    expect([of("ratelimit"), body]).toEqual([['"r";r=2;t=60'], ""]);
  });

  it("leaves everything else as the handler wrote it", async () => {
    const { lines, response } = await call(
      (response) => {
        joinHead(response, toLines(OURS));
        response.setHeader("Set-Cookie", ["a=1", "b=2"]);
        response.writeHead(201, "Made", { "X-Own": "yes", "Content-Length": 2 });
        response.end("ok");
      },
      "GET",
      options,
    );
    expect([response.statusCode, response.statusMessage]).toEqual([201, "Made"]);
    expect(valuesOf(lines, "set-cookie")).toEqual(["a=1", "b=2"]);
    expect(valuesOf(lines, "x-own")).toEqual(["yes"]);
    expect(valuesOf(lines, "content-length")).toEqual(["2"]);
  });

  it("lists the named limits of several middlewares, and takes other headers from the last one", async () => {
    const { of } = await call(
      (response) => {
        joinHead(response, toLines(OURS));
        joinHead(response, toLines(["RateLimit", '"inner";r=1', "X-RateLimit-Limit", "7"]));
        joinHead(response, toLines([]));
        response.end();
      },
      "GET",
      options,
    );
    expect(of("ratelimit")).toEqual(['"r";r=2;t=60, "inner";r=1']);
    expect(of("x-ratelimit-limit")).toEqual(["7"]);
  });

  it("still refuses to be written twice", async () => {
    const errors: unknown[] = [];
    const { of } = await call(
      (response) => {
        joinHead(response, toLines(OURS));
        response.writeHead(200);
        try {
          response.writeHead(500);
        } catch (error) {
          errors.push(error);
        }
        response.end();
      },
      "GET",
      options,
    );
    expect(errors).toMatchObject([{ code: "ERR_HTTP_HEADERS_SENT" }]);
    expect(of("ratelimit")).toHaveLength(1);
  });

  it("can be read afterwards, wherever a header was set", async () => {
    const seen: unknown[] = [];
    const { response } = await call(
      (response) => {
        watchHead(response);
        response.setHeader("X-Set", "1");
        response.once("close", () => {
          for (const name of ["x-set", "x-cost", "x-none"]) seen.push(readField(response, name));
        });
        response.writeHead(200, { "X-Cost": 7 }).end();
      },
      "GET",
      options,
    );
    expect(response.statusCode).toBe(200);
    await expect.poll(() => seen).toEqual(["1", "7", undefined]);
  });
});

describe("on one connection", () => {
  it("answers requests that were sent ahead, each with its own headers", async () => {
    let count = 0;
    const port = await serve((response) => {
      count += 1;
      joinHead(response, toLines(["RateLimit", `"r";r=${count}`]));
      response.end(`answer ${count}`);
    });
    const socket = connect(port, "127.0.0.1");
    const ask = "GET / HTTP/1.1\r\nHost: a.example\r\n";
    socket.write(`${ask}\r\n${ask}\r\n${ask}Connection: close\r\n\r\n`);
    const all = await text(socket);
    expect(all.match(/RateLimit: "r";r=\d/g)).toEqual(
      [1, 2, 3].map((i) => `RateLimit: "r";r=${i}`),
    );
    expect(all.match(/answer \d/g)).toEqual(["answer 1", "answer 2", "answer 3"]);
  });

  it("keeps trailers apart", async () => {
    const { response, of } = await call((response) => {
      joinHead(response, toLines(OURS));
      response.writeHead(200, { Trailer: "X-End" });
      response.write("body");
      response.addTrailers({ "X-End": "now" });
      response.end();
    });
    expect(response.trailers).toEqual({ "x-end": "now" });
    expect(of("ratelimit")).toHaveLength(1);
  });
});

describe("beside middleware that wraps writeHead", () => {
  /** Sets what is passed to writeHead, and looks for it where most such middleware does. */
  function wrap(response: ServerResponse): void {
    const { writeHead } = response;
    response.writeHead = ((status: number, ...rest: unknown[]) => {
      const given = typeof rest[0] === "string" ? rest[1] : rest[0];
      for (const [name, value] of Object.entries((given ?? {}) as Record<string, string>)) {
        response.setHeader(name, value);
      }
      return writeHead.call(response, status);
    }) as ServerResponse["writeHead"];
  }

  const join = (response: ServerResponse) => joinHead(response, toLines(OURS));

  it.each([
    ["before", [wrap, join]],
    ["after", [join, wrap]],
  ] as const)("keeps what a handler passes to writeHead, wrapped %s us", async (_when, steps) => {
    const { of } = await call((response) => {
      for (const step of steps) step(response);
      response.writeHead(200, { "X-Mine": "yes", "x-ratelimit-limit": "1000" });
      response.end("hello");
    });
    expect(of("x-mine")).toEqual(["yes"]);
    expect(of("x-ratelimit-limit")).toEqual(["3"]);
    expect(of("ratelimit")).toEqual(['"r";r=2;t=60']);
  });

  it("waits for a head that is put off", async () => {
    const { of, body } = await call((response) => {
      const { writeHead } = response;
      response.writeHead = ((status: number) => {
        response.statusCode = status;
        return response;
      }) as ServerResponse["writeHead"];
      join(response);
      response.writeHead(201);
      response.writeHead = writeHead;
      response.end("hello");
    });
    expect(body).toBe("hello");
    expect(of("ratelimit")).toEqual(['"r";r=2;t=60']);
  });

  it("sends a refusal whole", async () => {
    const { response, of } = await call((response) => {
      wrap(response);
      join(response);
      sendNodeReply(response, { status: 429, fields: ["Retry-After", "7"], body: "no" });
    });
    expect(response.statusCode).toBe(429);
    expect(of("retry-after")).toEqual(["7"]);
    expect(of("ratelimit")).toEqual(['"r";r=2;t=60']);
  });
});

describe("the head of an HTTP/2 response", () => {
  it("carries our headers in place of the handler's", async () => {
    const server = createHttp2Server((_request, response) => {
      joinHead(response as unknown as ServerResponse, toLines(OURS));
      response.writeHead(200, { "x-ratelimit-limit": "1000" });
      response.end("hello");
    });
    running.push(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = client.request({ ":path": "/" });
    const headers = await new Promise<Record<string, unknown>>((done) =>
      stream.once("response", done),
    );
    expect(await text(stream)).toBe("hello");
    expect(headers).toMatchObject({ ratelimit: '"r";r=2;t=60', "x-ratelimit-limit": "3" });
    await new Promise<void>((done) => client.close(done));
  });
});
