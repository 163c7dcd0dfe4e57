import { describe, expect, it } from "vitest";
import { checkServer } from "./server-check.js";

const infoOf = (version: string, policy = "noeviction") =>
  `# Server\r\nredis_version:${version}\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`;

describe("the look at a server", () => {
  it.each(["6.2.0", "6.10.1", "7.0.15", "8.0.0", "10.1.2"])("takes version %s", (version) => {
    expect(checkServer(infoOf(version))).toEqual({ version, warning: undefined });
  });

  it.each(["5.0.14", "6.0.9", "6.1.99", "2.8", "none"])("refuses version %s", (version) => {
    expect(() => checkServer(infoOf(version))).toThrow(
      `needs Redis 6.2 or later, or any Valkey; saw version ${version}`,
    );
  });

  it("says what is needed if the server does not state its version", () => {
    expect(() => checkServer("")).toThrow("saw version none");
  });

  it.each(["allkeys-lru", "allkeys-lfu", "allkeys-random"])("warns of %s", (policy) => {
    expect(checkServer(infoOf("7.0.0", policy)).warning).toContain(`maxmemory-policy is ${policy}`);
  });

  it.each(["noeviction", "volatile-lru", "volatile-ttl"])("does not warn of %s", (policy) => {
    expect(checkServer(infoOf("7.0.0", policy)).warning).toBeUndefined();
  });
});
