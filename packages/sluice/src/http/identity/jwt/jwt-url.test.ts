// Keys at a URL, fetched from a real server on this machine. Only the manual clock ages them.

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type JwtOptions, jwtVerifier, type TokenRejection } from "./jwt.js";

const startMs = Date.UTC(2026, 0, 1);
const pairs = new Map(
  ["a", "b"].map((kid) => [kid, generateKeyPairSync("ec", { namedCurve: "P-256" })]),
);
const closers: (() => void)[] = [];
const HEAD_WITHOUT_KID = Buffer.from('{"alg":"ES256"}').toString("base64url");

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function pairOf(kid: string): { publicKey: KeyObject; privateKey: KeyObject } {
  return pairs.get(kid) ?? (pairs.get("a") as never);
}

function setOf(...kids: string[]): string {
  const keys = kids.map((kid) => ({ ...pairOf(kid).publicKey.export({ format: "jwk" }), kid }));
  return JSON.stringify({ keys });
}

function sign(kid: string, sub = "42"): Promise<string> {
  return new SignJWT({ sub })
    .setProtectedHeader({ alg: "ES256", kid })
    .sign(pairOf(kid).privateKey);
}

/** An issuer whose answer can change, and how often it was asked. */
async function startIssuer(body: string) {
  const issuer = {
    url: "",
    asked: 0,
    answer: ((_, response) => response.end(body)) as RequestListener,
    publish: (other: string) => {
      issuer.answer = (_, response) => response.end(other);
    },
    fail: () => {
      issuer.answer = (_, response) => response.writeHead(503).end();
    },
  };
  const server = createServer((request, response) => {
    issuer.asked++;
    issuer.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks?tenant=1`;
  return issuer;
}

async function stand(body = setOf("a"), options: Partial<JwtOptions> = {}) {
  const issuer = await startIssuer(body);
  const clock = new ManualClock(startMs);
  const reasons: TokenRejection[] = [];
  const errors: string[] = [];
  const verifier = jwtVerifier({
    jwksUrl: issuer.url,
    algorithms: ["ES256"],
    clock,
    onRejected: ({ reason }) => reasons.push(reason),
    onKeysFailed: ({ message }) => errors.push(message),
    ...options,
  });
  return { issuer, clock, verifier, reasons, errors };
}

describe("keys at a URL", () => {
  it("are fetched once, with the first token, however many come together", async () => {
    const { issuer, verifier } = await stand();
    expect(issuer.asked).toBe(0);
    const tokens = await Promise.all(["1", "2", "3", "4"].map((sub) => sign("a", sub)));
    const claims = await Promise.all(tokens.map((token) => verifier.verify(token)));
    expect(claims.map((found) => found?.sub)).toEqual(["1", "2", "3", "4"]);
    expect(issuer.asked).toBe(1);
  });

  it("can be fetched before the first token", async () => {
    const { issuer, verifier } = await stand();
    await verifier.fetchKeys();
    expect(await verifier.verify(await sign("a"))).toEqual({ sub: "42" });
    expect(issuer.asked).toBe(1);
  });

  it("are fetched again for a key that is not among them, at most every ten seconds", async () => {
    const { issuer, clock, verifier, reasons } = await stand();
    await verifier.verify(await sign("a"));
    issuer.publish(setOf("a", "b"));
    clock.advance(9_999);
    expect(await verifier.verify(await sign("b"))).toBeUndefined();
    expect(reasons).toEqual(["key"]);
    clock.advance(1);
    expect(await verifier.verify(await sign("b"))).toEqual({ sub: "42" });
    for (let i = 0; i < 20; i++) await verifier.verify(await sign(`invented-${i}`));
    expect(issuer.asked).toBe(2);
    expect(reasons).toHaveLength(21);
  });

  it("are fetched again when they are old, while those from before serve", async () => {
    const { issuer, clock, verifier, reasons } = await stand(undefined, { jwksMaxAgeMs: 60_000 });
    const token = await sign("a");
    await verifier.verify(token);
    issuer.publish(setOf("b"));
    clock.advance(60_000);
    expect(await verifier.verify(token)).toEqual({ sub: "42" });
    await verifier.fetchKeys();
    // Withdrawn: what was remembered is forgotten.
    expect(await verifier.verify(token)).toBeUndefined();
    expect(reasons).toEqual(["key"]);
    expect(issuer.asked).toBe(2);
  });

  it("stay remembered, with the tokens that they verified, if the set is the same", async () => {
    const { issuer, clock, verifier } = await stand(undefined, { jwksMaxAgeMs: 10_000 });
    const token = await sign("a");
    await verifier.verify(token);
    clock.advance(10_000);
    await verifier.verify(token);
    await verifier.fetchKeys();
    await verifier.verify(token);
    expect(issuer.asked).toBe(2);
    expect(verifier.stats).toMatchObject({ verified: 1, remembered: 2 });
  });

  it("keep working while the issuer is down, for jwksStaleMs and no longer", async () => {
    const ages = { jwksMaxAgeMs: 60_000, jwksStaleMs: 3_600_000 };
    const { issuer, clock, verifier, reasons, errors } = await stand(undefined, ages);
    const token = await sign("a");
    await verifier.verify(token);
    issuer.fail();
    clock.advance(3_599_999);
    expect(await verifier.verify(token)).toEqual({ sub: "42" });
    await verifier.fetchKeys();
    clock.advance(1);
    expect(await verifier.verify(token)).toBeUndefined();
    expect(reasons).toEqual(["keys-unavailable"]);
    expect(verifier.stats.keyFetchFailures).toBe(errors.length);
    issuer.publish(setOf("a"));
    clock.advance(10_000);
    expect(await verifier.verify(token)).toEqual({ sub: "42" });
  });
});

describe("tokens of an attacker, with keys at a URL", () => {
  it("are fetched for once, however many names of keys they invent while the fetch is under way", async () => {
    const { issuer, clock, verifier, reasons } = await stand();
    const good = await sign("a");
    await verifier.verify(good);
    clock.advance(10_000);
    let release: (() => void) | undefined;
    issuer.answer = (_, response) => {
      release = () => response.end(setOf("a", "b"));
    };
    const head = (kid: string) =>
      Buffer.from(JSON.stringify({ alg: "ES256", kid })).toString("base64url");
    const rest = good.slice(good.indexOf("."));
    const flood = Array.from({ length: 3_000 }, (_, i) => verifier.verify(head(`x${i}`) + rest));
    // Keys that are known serve meanwhile.
    expect(await verifier.verify(await sign("a", "7"))).toEqual({ sub: "7" });
    while (release === undefined) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect((await Promise.all(flood)).every((claims) => claims === undefined)).toBe(true);
    expect(await verifier.verify(await sign("b"))).toEqual({ sub: "42" });
    expect(issuer.asked).toBe(2);
    expect(new Set(reasons)).toEqual(new Set(["key"]));
  });

  it("can't use a public key as a secret, nor no algorithm", async () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "a" }];
    const rsaOnly: Partial<JwtOptions> = { algorithms: ["RS256"] };
    const { verifier, reasons } = await stand(JSON.stringify({ keys }), rsaOnly);
    const pem = publicKey.export({ format: "pem", type: "spki" });
    for (const secret of [pem, JSON.stringify(keys[0]), JSON.stringify({ keys })]) {
      const token = await new SignJWT({ sub: "42" })
        .setProtectedHeader({ alg: "HS256", kid: "a" })
        .sign(Buffer.from(secret));
      expect(await verifier.verify(token)).toBeUndefined();
    }
    const none = [{ alg: "none", kid: "a" }, { sub: "42" }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    expect(await verifier.verify(`${none.join(".")}.`)).toBeUndefined();
    expect(reasons).toEqual(["algorithm", "algorithm", "algorithm", "algorithm"]);
  });

  it("cost little with a set as large as may be", async () => {
    const { publicKey } = pairOf("a");
    const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
    const keys = Array.from({ length: 1_500 }, () => ({ kty, crv, x, y }));
    const { verifier, reasons } = await stand(JSON.stringify({ keys }));
    const forged = await Promise.all(["1", "2", "3"].map((sub) => sign("b", sub)));
    const startMs = performance.now();
    for (const token of forged) await verifier.verify(token.replace(/^[^.]+/, HEAD_WITHOUT_KID));
    expect(reasons).toEqual(["signature", "signature", "signature"]);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

describe("a URL whose answer can't be used", () => {
  it.each<[string, string | RequestListener, RegExp]>([
    [
      "a status",
      (_, response) => response.writeHead(404).end(),
      /\/jwks: it answered with status 404$/,
    ],
    [
      "a redirect",
      (_, response) => response.writeHead(302, { location: "/other" }).end(),
      /\/jwks: .*redirect/,
    ],
    ["no JSON", "<html>", /\/jwks must be JSON$/],
    ["no keys", "{}", /must be a key set/],
    ["secret keys", '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /must have public keys only/],
    ["too much", "x".repeat(300_000), /more than 262144 bytes/],
    ["a cut", (request) => request.socket.destroy(), /\/jwks: /],
  ])("%s rejects tokens and is reported without the query", async (_, answer, reason) => {
    const { issuer, verifier, reasons, errors } = await stand();
    if (typeof answer === "string") issuer.publish(answer);
    else issuer.answer = answer;
    expect(await verifier.verify(await sign("a"))).toBeUndefined();
    expect(reasons).toEqual(["keys-unavailable"]);
    expect(errors).toEqual([expect.stringMatching(reason)]);
    expect(errors[0]).not.toContain("tenant");
    expect(await verifier.verify(await sign("a"))).toBeUndefined();
    expect(issuer.asked).toBe(1);
  });

  it("that never ends is given up after five seconds", async () => {
    const { issuer, verifier, errors } = await stand();
    issuer.answer = (_, response) => void response.writeHead(200).write("{");
    expect(await verifier.verify(await sign("a"))).toBeUndefined();
    expect(errors).toEqual([expect.stringMatching(/no answer within 5 seconds$/)]);
  }, 20_000);
});

describe("an option", () => {
  it.each([
    [{ jwksUrl: "http://login.example.com/jwks" }, /https, or http on a loopback address/],
    [{ jwksUrl: "http://127.0.0.1.example.com/" }, /https, or http on a loopback address/],
    [{ jwksUrl: "file:///etc/passwd" }, /https, or http on a loopback address/],
    [{ jwksUrl: 42 }, /must be a URL such as .*got 42/],
    [{ jwksUrl: "https://u:p@example.com/" }, /must have no credentials/],
    [{ jwksUrl: "https://example.com/", jwksMaxAgeMs: 9_999 }, /jwksMaxAgeMs/],
    [{ jwksUrl: "https://example.com/", jwksStaleMs: 599_999 }, /jwksStaleMs/],
    [{ jwks: { keys: [] }, jwksUrl: "https://example.com/" }, /exactly one of/],
  ])("%o is refused", (options, reason) => {
    expect(() => jwtVerifier({ algorithms: ["ES256"], ...options } as JwtOptions)).toThrow(reason);
  });

  it.each(["https://login.example.com/jwks", "http://localhost:1/", "http://[::1]:1/"])(
    "jwksUrl may be %s, and nothing is fetched yet",
    (jwksUrl) => {
      expect(() => jwtVerifier({ jwksUrl, algorithms: ["ES256"] })).not.toThrow();
    },
  );
});
