import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { requestHandlerOf, SITE } from "../../../test/handler-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { toRequestHandler } from "./create-handler.js";
import type { HttpOptions } from "./http-options.js";

const limit = fixedWindow({ limit: 1, windowMs: 1_000 });

describe("options of a middleware", () => {
  it.each<[string, unknown, string]>([
    [
      "headers",
      "draft-99",
      'headers must be one of draft-11, draft-8, draft-7, draft-6, none, got "draft-99"',
    ],
    [
      "legacyHeaders",
      "never",
      'legacyHeaders must be true, false, "epoch" or "delta", got "never"',
    ],
    [
      "retryAfterJitterMs",
      -1,
      "retryAfterJitterMs must be a whole number from 0 to 3600000, got -1",
    ],
    ["body", "html", 'body must be one of problem, text, minimal, got "html"'],
    ["delayedMax", 1.5, "delayedMax must be a whole number from 0 to 1000000, got 1.5"],
    ["requestId", "x-id", 'requestId must be a function, got "x-id"'],
    ["onRefused", {}, "onRefused must be a function, got {}"],
    ["onError", 1, "onError must be a function, got 1"],
    ["partitionKey", "s", 'partitionKey must be an object with secret, got "s"'],
    ["skip", true, "skip must be a function, got true"],
  ])("refuse %s of %j", (name, value, message) => {
    expect(() => toRequestHandler(SITE, { limit, [name]: value })).toThrow(`rateLimit: ${message}`);
  });

  it("refuse onMissing beside a key function, which says itself who is not counted", () => {
    expect(() => toRequestHandler(SITE, { limit, key: () => "a", onMissing: "refuse" })).toThrow(
      "rateLimit: onMissing needs dimensions as key",
    );
  });

  it("never show a secret that is too short", () => {
    const make = () => toRequestHandler(SITE, { limit, partitionKey: { secret: "hunter2" } });
    expect(make).toThrow("partitionKey.secret must be a string of at least 16 characters");
    expect(make).not.toThrow(/hunter2/);
  });

  it("refuse unknown names, and list the known ones", () => {
    expect(() =>
      toRequestHandler(SITE, { limit, header: "none" } as object as { limit: never }),
    ).toThrow('rateLimit: unknown option "header", did you mean headers? known: limit, key, name,');
    expect(() => requestHandlerOf([{ id: "r", limit }], { limit } as HttpOptions)).toThrow(
      'rateLimit: unknown option "limit"; known: identity, headers,',
    );
  });

  it("are not a request: the middleware was passed on and never made", () => {
    const requests: Record<string, unknown> = {
      node: new IncomingMessage(new Socket()),
      fetch: new Request("http://localhost/"),
      koa: { req: {}, res: {}, request: {}, response: {} },
    };
    for (const [name, request] of Object.entries(requests)) {
      expect(() => toRequestHandler(SITE, request as { limit: never }), name).toThrow(
        "rateLimit: got a request, not options; write app.use(rateLimit({ limit: … })) instead of app.use(rateLimit)",
      );
    }
  });

  it("are a policy and options, or options alone", () => {
    expect(() => toRequestHandler(SITE, { limit }, {})).toThrow(
      "takes a policy and options, or options alone",
    );
    expect(() => toRequestHandler(SITE, undefined as never)).toThrow(
      "needs an object of options, got undefined",
    );
    expect(() => toRequestHandler(SITE, {} as never)).toThrow(
      "needs a limit such as tokenBucket(…), or a policy",
    );
  });

  it("report an impossible rule in the words that rule files get", () => {
    expect(() => toRequestHandler(SITE, { limit, key: "shoe-size" })).toThrow(
      /rule "default": key/,
    );
    expect(() => toRequestHandler(SITE, { limit: 5 as never })).toThrow(/rule "default": limit/);
    expect(() => toRequestHandler(SITE, { limit, onExceed: "delay", delayMsMax: 5 })).toThrow(
      /default.*delay/,
    );
  });
});
