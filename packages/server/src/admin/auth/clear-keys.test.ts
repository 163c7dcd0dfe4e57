import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { ClearKeys } from "./clear-keys.js";

const LOCAL = { name: "local", role: "admin", origin: "127.0.0.1" } as const;
const CONFIRMED = { host: "127.0.0.1:9090", "sluice-confirm": "clear-keys" };

const open = new ClearKeys(() => false, pino({ level: "silent" }));
const guarded = new ClearKeys(() => true, pino({ level: "silent" }));

describe("keys in clear, on a port without a token", () => {
  it.each([
    ["a program of this machine", {}],
    ["a program that names the machine", { host: "localhost:9090" }],
    ["a program over IPv6", { host: "[::1]:9090" }],
    ["an address that was typed into a browser", { "sec-fetch-site": "none" }],
    ["the page that this port serves", { "sec-fetch-site": "same-origin" }],
    [
      "that page, where the browser sends its origin",
      { "sec-fetch-site": "same-origin", origin: "http://127.0.0.1:9090" },
    ],
  ])("are shown to %s", (_, headers) => {
    expect(open.shows("clear", { ...CONFIRMED, ...headers }, LOCAL)).toBe(true);
  });

  it.each([
    ["one that did not confirm", { "sluice-confirm": undefined }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["a page of another port of this machine", { "sec-fetch-site": "same-site" }],
    [
      "a page whose name was pointed here",
      { host: "evil.example:9090", "sec-fetch-site": "same-origin" },
    ],
    [
      "a page of another origin",
      { "sec-fetch-site": "same-origin", origin: "http://evil.example" },
    ],
    ["a page of an old browser", { origin: "http://127.0.0.1:9090" }],
    ["a host that is not this machine", { host: "192.0.2.7:9090" }],
    ["no host", { host: undefined }],
  ])("are not shown to %s", (_, headers) => {
    const sent = { ...CONFIRMED, ...headers };
    expect(() => open.shows("clear", sent, LOCAL)).toThrow("Sluice-Confirm".toLowerCase());
  });
});

describe("keys in clear", () => {
  it("have to be asked for", () => {
    expect(open.shows("hashed", CONFIRMED, LOCAL)).toBe(false);
  });

  it("are for operators, with or without a page", () => {
    const viewer = { ...LOCAL, role: "viewer" } as const;
    expect(() => guarded.shows("clear", CONFIRMED, viewer)).toThrow("need the role operator");
    expect(guarded.shows("clear", { host: "sluice.internal" }, LOCAL)).toBe(true);
  });
});
