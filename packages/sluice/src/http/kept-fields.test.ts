import { createServer, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { listen, type RunningServer } from "../../test/http/framework-harness.js";
import { keepFields } from "./kept-fields.js";

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function answered(answer: (response: ServerResponse) => void): Promise<Response> {
  const server = await listen(
    createServer((_request, response) => {
      keepFields(response, ["RateLimit", '"a";r=1', "X-RateLimit-Limit", "3"]);
      answer(response);
    }),
  );
  running.push(server);
  return fetch(server.url);
}

describe("keepFields", () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ["ends at once", (response) => response.end("hello")],
    ["sets one of them", (response) => response.setHeader("x-ratelimit-limit", "9").end("hello")],
    [
      "takes all fields off",
      (response) => {
        response.setHeader("x-other", "1");
        for (const name of response.getHeaderNames()) response.removeHeader(name);
        response.end("hello");
      },
    ],
    [
      "writes a head",
      (response) => response.writeHead(200, { "X-RateLimit-Limit": 9 }).end("hello"),
    ],
    [
      "writes a head with a reason",
      (response) => response.writeHead(200, "Fine", { "x-ratelimit-limit": "9" }).end("hello"),
    ],
    [
      "flushes the head and streams",
      (response) => {
        response.flushHeaders();
        response.write("hel");
        response.end("lo");
      },
    ],
  ])("has the last word where a handler %s", async (_name, answer) => {
    const response = await answered(answer);
    expect(response.status).toBe(200);
    expect(response.headers.get("ratelimit")).toBe('"a";r=1');
    expect(response.headers.get("x-ratelimit-limit")).toBe("3");
    expect(await response.text()).toBe("hello");
  });

  it("leaves other fields of a written head as they are", async () => {
    const cookies = ["a=1", "b=2"];
    const response = await answered((raw) => {
      raw.writeHead(201, { "Set-Cookie": cookies, "X-Own": "yes" }).end();
    });
    expect([response.status, response.headers.get("x-own")]).toEqual([201, "yes"]);
    expect(response.headers.getSetCookie()).toEqual(cookies);
  });
});
