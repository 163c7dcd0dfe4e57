// Routes: which one serves a path and a host.

import { describe, expect, it } from "vitest";
import { ServerError } from "../base/errors.js";
import type { RouteConfig } from "./config.js";
import { Routes } from "./routes.js";

function route(path: string, host?: string): RouteConfig {
  return { path, host, upstream: `${host ?? ""}${path}`, preserveHost: true };
}

function find(routes: readonly RouteConfig[], path: string, host?: string): string | undefined {
  return new Routes(routes).find(path, host)?.upstream;
}

describe("Routes", () => {
  it("serves by the first that fits", () => {
    const routes = [route("/api/v2/*"), route("/api/*"), route("/api/v2/users"), route("/*")];
    expect(find(routes, "/api/v2/users")).toBe("/api/v2/*");
    expect(find(routes, "/api/v1")).toBe("/api/*");
    expect(find(routes, "/")).toBe("/*");
  });

  it("takes /api/* for /api and everything below, and for nothing beside it", () => {
    const routes = [route("/api/*")];
    for (const path of ["/api", "/api/", "/api/a", "/api/a/b"])
      expect(find(routes, path)).toBe("/api/*");
    for (const path of ["/", "/apis", "/ap", "/a/api", "/API/a", "*"])
      expect(find(routes, path)).toBeUndefined();
  });

  it("takes a path without a star for itself only", () => {
    expect(find([route("/health")], "/health")).toBe("/health");
    expect(find([route("/health")], "/health/a")).toBeUndefined();
    expect(find([route("/")], "/a")).toBeUndefined();
  });

  it("looks at the host without its port, its case and its last dot", () => {
    const routes = [route("/*", "api.example.com"), route("/*")];
    for (const host of ["api.example.com", "API.example.com:8080", "api.example.com.:443"]) {
      expect(find(routes, "/", host)).toBe("api.example.com/*");
    }
    expect(find(routes, "/", "www.example.com")).toBe("/*");
    expect(find(routes, "/")).toBe("/*");
  });

  it("takes *.example.com for every name below it, and not for itself", () => {
    const routes = [route("/*", "*.example.com")];
    for (const host of ["a.example.com", "a.b.example.com:80"])
      expect(find(routes, "/", host)).toBeDefined();
    for (const host of ["example.com", ".example.com", "badexample.com", undefined]) {
      expect(find(routes, "/", host)).toBeUndefined();
    }
  });

  it("knows IPv6 hosts", () => {
    expect(find([route("/*", "[::1]")], "/", "[::1]:8080")).toBe("[::1]/*");
  });

  it("compares configured paths in the form that requests have", () => {
    expect(find([route("/caf\u00e9/*")], "/caf%C3%A9/a")).toBeDefined();
    expect(find([route("//a/./%62/*")], "/a/b")).toBeDefined();
  });

  it("refuses a path that no request can have, and says which", () => {
    expect(() => new Routes([route("api/*")])).toThrow(/got "api\/"/);
    expect(() => new Routes([route("/a?b")])).toThrow(ServerError);
  });
});
