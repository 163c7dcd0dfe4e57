import { Agent, type IncomingMessage, request as openRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { startGateway, startUpstream, stopAll } from "../../test/proxy-stand.js";

afterEach(stopAll);

describe("the gateway", () => {
  it("passes a request on and its response back", async () => {
    const upstream = await startUpstream((request, response) => {
      response.writeHead(201, "Made", { "X-Seen": `${request.method} ${request.url}` });
      response.end("hello");
    });
    const { url } = await startGateway(upstream);
    const answer = await fetch(`${url}/a/b?c=d`, { method: "DELETE" });
    expect(answer.status).toBe(201);
    expect(answer.statusText).toBe("Made");
    expect(answer.headers.get("x-seen")).toBe("DELETE /a/b?c=d");
    expect(await answer.text()).toBe("hello");
  });
});
