import { describe, expect, it } from "vitest";
import { cloudflarePeer, headerPeer, runtimePeer } from "./peer-address.js";

const request = new Request("http://api.example.com/", {
  headers: { "cf-connecting-ip": " 203.0.113.7 ", "x-forwarded-for": "203.0.113.8" },
});

describe("the peer of a Request", () => {
  it.each([
    ["Bun's server", { requestIP: () => ({ address: "192.0.2.1", family: "IPv4", port: 1 }) }],
    ["Deno's info", { remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 1 } }],
    ["the bindings of @hono/node-server", { incoming: { socket: { remoteAddress: "192.0.2.1" } } }],
    ["an object around one of them", { server: { remoteAddr: { hostname: "192.0.2.1" } } }],
  ])("is found in %s", (_name, info) => {
    expect(runtimePeer(request, info)).toBe("192.0.2.1");
  });

  it("asks Bun's server about this request, as a method", () => {
    const server = {
      known: request,
      requestIP(asked: Request) {
        return asked === this.known ? { address: "192.0.2.1" } : null;
      },
    };
    expect(runtimePeer(request, server)).toBe("192.0.2.1");
    expect(runtimePeer(new Request("http://api.example.com/"), server)).toBeUndefined();
  });

  const self: { server?: unknown } = {};
  self.server = self;
  it.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "192.0.2.1"],
    ["the context of a Next.js route", { params: Promise.resolve({}) }],
    ["a unix socket in Deno", { remoteAddr: { transport: "unix", path: "a.sock" } }],
    ["a request whose socket is gone", { incoming: { socket: {} } }],
    ["an object that holds itself", self],
  ])("is not known from %s, and no header is trusted instead", (_name, info) => {
    expect(runtimePeer(request, info)).toBeUndefined();
  });

  it("is what the named header says, and nothing if the header is blank or absent", () => {
    expect(cloudflarePeer(request)).toBe("203.0.113.7");
    expect(headerPeer("x-real-ip")(request)).toBeUndefined();
    const blank = new Request("http://api.example.com/", { headers: { "x-real-ip": " " } });
    expect(headerPeer("x-real-ip")(blank)).toBeUndefined();
  });
});
