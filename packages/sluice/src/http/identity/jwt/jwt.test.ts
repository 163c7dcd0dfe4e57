import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { requestOf } from "../../../../test/http/http-request.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type JwtAlgorithm, type JwtOptions, jwtVerifier, type TokenRejection } from "./jwt.js";

const startMs = Date.UTC(2026, 0, 1);
const nowSeconds = startMs / 1_000;
const SECRET = "a secret that has at least 32 bytes";
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });

const folder = makeFolder("jwt");

function sign(
  key: KeyObject | Uint8Array,
  payload: JWTPayload,
  header: JWTHeaderParameters,
): Promise<string> {
  return new SignJWT(payload).setProtectedHeader(header).sign(key);
}

function signSecret(payload: JWTPayload, alg = "HS256"): Promise<string> {
  return sign(new TextEncoder().encode(SECRET), payload, { alg });
}

function toPem(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}

function toJwk(key: KeyObject, more: object): object {
  return { ...key.export({ format: "jwk" }), ...more };
}

/** A verifier by the shared secret, the clock that moves it, and why it rejected tokens. */
function stand(options: Partial<JwtOptions> = {}) {
  const clock = new ManualClock(startMs);
  const reasons: TokenRejection[] = [];
  const verifier = jwtVerifier({
    secret: SECRET,
    algorithms: ["HS256"],
    clock,
    onRejected: ({ reason }) => reasons.push(reason),
    ...options,
  });
  return { verifier, clock, reasons };
}

/** By public keys instead of the secret. */
function publicStand(options: Partial<JwtOptions>) {
  const { secret: _, ...rest } = { secret: undefined, ...options };
  const clock = new ManualClock(startMs);
  const reasons: TokenRejection[] = [];
  const onRejected: JwtOptions["onRejected"] = ({ reason }) => reasons.push(reason);
  const verifier = jwtVerifier({ clock, onRejected, ...rest } as JwtOptions);
  return { verifier, clock, reasons };
}

describe("a verified token", () => {
  it.each<[JwtAlgorithm, { publicKey: KeyObject; privateKey: KeyObject }]>([
    ["RS256", rsa],
    ["PS256", rsa],
    ["ES256", ec],
    ["EdDSA", ed],
    ["Ed25519", ed],
  ])("is trusted under %s", async (alg, pair) => {
    const token = await sign(pair.privateKey, { sub: "42" }, { alg });
    const { verifier } = publicStand({ key: toPem(pair.publicKey), algorithms: [alg] });
    expect(await verifier.verify(token)).toEqual({ sub: "42" });
  });

  it.each<[JwtAlgorithm]>([["HS256"], ["HS384"], ["HS512"]])("is trusted under %s", async (alg) => {
    const { verifier } = stand({ algorithms: [alg] });
    expect(await verifier.verify(await signSecret({ sub: "42" }, alg))).toEqual({ sub: "42" });
  });

  it("is verified by the key of a set that it names, or by any that fits", async () => {
    const jwks = {
      keys: [
        toJwk(other.publicKey, { kid: "old" }),
        toJwk(ec.publicKey, { kid: "new" }),
        toJwk(rsa.publicKey, { kid: "rsa" }),
      ],
    };
    const { verifier, reasons } = publicStand({ jwks, algorithms: ["ES256", "RS256"] });
    const signed = (kid: string | undefined, pair: typeof ec, alg: string) =>
      sign(pair.privateKey, { sub: kid ?? "none" }, kid === undefined ? { alg } : { alg, kid });
    expect(await verifier.verify(await signed("new", ec, "ES256"))).toEqual({ sub: "new" });
    expect(await verifier.verify(await signed("old", other, "ES256"))).toEqual({ sub: "old" });
    expect(await verifier.verify(await signed(undefined, rsa, "RS256"))).toEqual({ sub: "none" });
    expect(await verifier.verify(await signed(undefined, ec, "ES256"))).toEqual({ sub: "none" });
    expect(reasons).toEqual([]);
    // Of another key, or under a name that is not there.
    expect(await verifier.verify(await signed("old", ec, "ES256"))).toBeUndefined();
    expect(await verifier.verify(await signed("gone", ec, "ES256"))).toBeUndefined();
    expect(reasons).toEqual(["signature", "key"]);
  });

  it("is verified by any of several keys of one name, as during a rotation", async () => {
    const strange = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwks = {
      keys: [other, ec, rsa].map(({ publicKey }) => toJwk(publicKey, { kid: "k" })),
    };
    const { verifier, reasons } = publicStand({ jwks, algorithms: ["ES256", "RS256"] });
    const signed = (pair: typeof ec, alg: string, payload: JWTPayload = { sub: "42" }) =>
      sign(pair.privateKey, payload, { alg, kid: "k" });
    expect(await verifier.verify(await signed(ec, "ES256"))).toEqual({ sub: "42" });
    expect(await verifier.verify(await signed(other, "ES256"))).toEqual({ sub: "42" });
    expect(await verifier.verify(await signed(rsa, "RS256"))).toEqual({ sub: "42" });
    expect(reasons).toEqual([]);
    expect(await verifier.verify(await signed(strange, "ES256"))).toBeUndefined();
    const late = { sub: "42", exp: nowSeconds - 1 };
    expect(await verifier.verify(await signed(ec, "ES256", late))).toBeUndefined();
    expect(reasons).toEqual(["signature", "expired"]);
  });

  it("is tried with eight keys and no more, however many fit", async () => {
    const pairs = Array.from({ length: 9 }, () =>
      generateKeyPairSync("ec", { namedCurve: "P-256" }),
    );
    const jwks = { keys: pairs.map(({ publicKey }) => toJwk(publicKey, {})) };
    const { verifier, reasons } = publicStand({ jwks, algorithms: ["ES256"] });
    for (const { privateKey } of pairs) {
      await verifier.verify(await sign(privateKey, { sub: "42" }, { alg: "ES256" }));
    }
    expect(verifier.stats.verified).toBe(8);
    expect(reasons).toEqual(["signature"]);
  });
});

describe("a token that is not trusted", () => {
  const issued = { issuer: "https://login.example.com", audience: ["api", "web"] };
  const good = { sub: "42", iss: issued.issuer, aud: "api" };

  it.each<[TokenRejection, JWTPayload]>([
    ["expired", { ...good, exp: nowSeconds }],
    ["expired", { ...good, exp: nowSeconds - 1 }],
    ["not-yet-valid", { ...good, nbf: nowSeconds + 1 }],
    ["issuer", { ...good, iss: "https://evil.example.com" }],
    ["issuer", { sub: "42", aud: "api" }],
    ["audience", { ...good, aud: "other" }],
    ["audience", { sub: "42", iss: issued.issuer }],
    ["claims", { ...good, exp: "tomorrow" as unknown as number }],
  ])("is %s: %j", async (reason, payload) => {
    const { verifier, reasons } = stand(issued);
    expect(await verifier.verify(await signSecret(good))).toEqual(good);
    expect(await verifier.verify(await signSecret(payload))).toBeUndefined();
    expect(reasons).toEqual([reason]);
    expect(verifier.stats).toMatchObject({ verified: 1, rejected: 1 });
  });

  it("may be off by the tolerance", async () => {
    const { verifier } = stand({ clockToleranceSeconds: 5 });
    expect(await verifier.verify(await signSecret({ exp: nowSeconds - 4 }))).toBeDefined();
    expect(await verifier.verify(await signSecret({ exp: nowSeconds - 5 }))).toBeUndefined();
    expect(await verifier.verify(await signSecret({ nbf: nowSeconds + 5 }))).toBeDefined();
    expect(await verifier.verify(await signSecret({ nbf: nowSeconds + 6 }))).toBeUndefined();
  });

  it("says alg none", async () => {
    const { verifier, reasons } = stand();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      const token = `${part({ alg })}.${part({ sub: "42" })}.`;
      expect(await verifier.verify(token)).toBeUndefined();
    }
    expect(reasons).toEqual(["algorithm", "algorithm", "algorithm", "algorithm"]);
  });

  it("uses the public key as a secret", async () => {
    const pem = toPem(rsa.publicKey);
    const { verifier, reasons } = publicStand({ key: pem, algorithms: ["RS256"] });
    for (const secret of [pem, pem.trim(), rsa.publicKey.export({ type: "spki", format: "der" })]) {
      const head = Buffer.from('{"alg":"HS256"}').toString("base64url");
      const text = `${head}.${Buffer.from('{"sub":"42"}').toString("base64url")}`;
      const code = createHmac("sha256", secret).update(text).digest("base64url");
      expect(await verifier.verify(`${text}.${code}`)).toBeUndefined();
    }
    expect(reasons).toEqual(["algorithm", "algorithm", "algorithm"]);
  });

  it("uses an algorithm that goes with the key but is not listed", async () => {
    const { verifier, reasons } = stand({ algorithms: ["HS512"] });
    expect(await verifier.verify(await signSecret({ sub: "42" }, "HS256"))).toBeUndefined();
    expect(reasons).toEqual(["algorithm"]);
  });

  it("uses a listed algorithm that does not go with the key", async () => {
    const options = { key: toPem(rsa.publicKey), algorithms: ["RS256", "ES256"] as const };
    const { verifier, reasons } = publicStand(options);
    const token = await sign(ec.privateKey, { sub: "42" }, { alg: "ES256" });
    expect(await verifier.verify(token)).toBeUndefined();
    expect(reasons).toEqual(["unsupported"]);
  });

  it("brings its own key", async () => {
    const { verifier } = publicStand({ key: toPem(ec.publicKey), algorithms: ["ES256"] });
    const jwk = other.publicKey.export({ format: "jwk" });
    const header = { alg: "ES256", jwk } as unknown as JWTHeaderParameters;
    expect(
      await verifier.verify(await sign(other.privateKey, { sub: "42" }, header)),
    ).toBeUndefined();
  });

  it("asks for an extension that is not known", async () => {
    const { verifier, reasons } = stand();
    const [, payload] = (await signSecret({ sub: "42" })).split(".");
    const head = Buffer.from('{"alg":"HS256","crit":["x"],"x":1}').toString("base64url");
    const code = createHmac("sha256", SECRET).update(`${head}.${payload}`).digest("base64url");
    expect(await verifier.verify(`${head}.${payload}.${code}`)).toBeUndefined();
    expect(reasons).toEqual(["unsupported"]);
  });

  it("was changed in any one character", async () => {
    const { verifier } = stand({ tokensMax: 0 });
    const token = await signSecret({ sub: "42" });
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
      const claims = await verifier.verify(changed);
      // The last character of a signature has bits that belong to nothing.
      if (claims !== undefined) expect([at, claims]).toEqual([token.length - 1, { sub: "42" }]);
    }
  });

  it.each([[""], ["a"], ["a.b"], ["a.b.c"], ["a.b.c.d.e"], ["..."], ["é.é.é"], ["a b.c.d"]])(
    "is malformed: %j",
    async (token) => {
      const { verifier, reasons } = stand();
      expect(await verifier.verify(token)).toBeUndefined();
      expect(reasons).toEqual(["malformed"]);
    },
  );

  it("is longer than 8 KiB", async () => {
    const { verifier, reasons } = stand();
    expect(verifier.verify(await signSecret({ sub: "x".repeat(8_192) }))).toBeUndefined();
    expect(reasons).toEqual(["too-long"]);
  });

  it("is not reported, even with a listener", async () => {
    const token = await signSecret({ sub: "42", exp: 1 });
    const seen: unknown[] = [];
    const { verifier } = stand({ onRejected: (rejection) => seen.push(rejection) });
    await verifier.verify(token);
    expect(seen).toEqual([{ reason: "expired" }]);
  });

  it("does no harm through a listener that throws or rejects", async () => {
    const throwing = stand({
      onRejected: () => {
        throw new Error("listener");
      },
    });
    const rejecting = stand({ onRejected: () => Promise.reject(new Error("listener")) });
    expect(await throwing.verifier.verify("a.b.c")).toBeUndefined();
    expect(await rejecting.verifier.verify("a.b.c")).toBeUndefined();
  });
});

describe("a token that is remembered", () => {
  it("is trusted immediately, until it expires and not a millisecond longer", async () => {
    const { verifier, clock, reasons } = stand();
    const token = await signSecret({ sub: "42", exp: nowSeconds + 60 });
    const claims = await verifier.verify(token);
    clock.advance(59_999);
    expect(verifier.verify(token)).toBe(claims);
    clock.advance(1);
    expect(await verifier.verify(token)).toBeUndefined();
    expect(reasons).toEqual(["expired"]);
    expect(verifier.stats).toMatchObject({ verified: 1, remembered: 1, rejected: 1 });
  });

  it("has its signature looked at again after five minutes", async () => {
    const { verifier, clock } = stand();
    const token = await signSecret({ sub: "42" });
    await verifier.verify(token);
    clock.advance(299_999);
    expect(verifier.verify(token)).not.toBeInstanceOf(Promise);
    clock.advance(1);
    expect(verifier.verify(token)).toBeInstanceOf(Promise);
  });

  it("is one of a bounded number", async () => {
    const { verifier } = stand({ tokensMax: 2 });
    const tokens = await Promise.all(["a", "b", "c"].map((sub) => signSecret({ sub })));
    for (const token of tokens) await verifier.verify(token);
    expect(verifier.verify(tokens[1])).toEqual({ sub: "b" });
    expect(verifier.verify(tokens[2])).toEqual({ sub: "c" });
    expect(verifier.verify(tokens[0])).toBeInstanceOf(Promise);
  });

  it("is none if none are to be", async () => {
    const { verifier } = stand({ tokensMax: 0 });
    const token = await signSecret({ sub: "42" });
    await verifier.verify(token);
    expect(verifier.verify(token)).toBeInstanceOf(Promise);
  });
});

describe("the place of a token", () => {
  const claimsOf = async (
    options: Partial<JwtOptions>,
    headers: Record<string, string | string[]>,
  ) => (await stand(options).verifier.claimsOf(requestOf({ headers })))?.sub;

  it("is the Authorization header, with the scheme Bearer", async () => {
    const token = await signSecret({ sub: "42" });
    expect(await claimsOf({}, { authorization: `Bearer ${token}` })).toBe("42");
    expect(await claimsOf({}, { authorization: `bEARER   ${token} ` })).toBe("42");
    expect(await claimsOf({}, { authorization: `Basic ${token}` })).toBeUndefined();
    expect(await claimsOf({}, { authorization: token })).toBeUndefined();
    expect(await claimsOf({}, { authorization: [`Bearer ${token}`] })).toBeUndefined();
    expect(await claimsOf({}, { authorization: "" })).toBeUndefined();
    expect(await claimsOf({}, {})).toBeUndefined();
  });

  it("is another header, with a scheme or without", async () => {
    const token = await signSecret({ sub: "42" });
    expect(await claimsOf({ header: "X-Token" }, { "x-token": token })).toBe("42");
    expect(await claimsOf({ header: "X-Token" }, { "x-token": `Bearer ${token}` })).toBe("42");
    expect(
      await claimsOf({ header: "X-Token" }, { authorization: `Bearer ${token}` }),
    ).toBeUndefined();
  });

  it("is a cookie, if the header has none that can be trusted", async () => {
    const inField = `Bearer ${await signSecret({ sub: "field" })}`;
    const cookie = `a=b; session=${await signSecret({ sub: "cookie" })}`;
    const options = { cookie: "session" };
    expect(await claimsOf(options, { authorization: inField, cookie })).toBe("field");
    expect(await claimsOf(options, { authorization: "Bearer x.y.z", cookie })).toBe("cookie");
    expect(await claimsOf(options, { cookie })).toBe("cookie");
    expect(
      await claimsOf({ ...options, header: false }, { authorization: inField }),
    ).toBeUndefined();
    expect(await claimsOf({}, { cookie })).toBeUndefined();
  });
});

describe("a key file", () => {
  const path = join(folder, "jwks.json");
  let stamp = 1_000;
  function write(text: string): void {
    writeFileSync(path, text);
    // A time of its own, however fast the test writes.
    utimesSync(path, ++stamp, stamp);
  }

  it("is followed when it changes, and its tokens are forgotten", async () => {
    write(JSON.stringify({ keys: [toJwk(ec.publicKey, { kid: "a" })] }));
    const { verifier, clock } = publicStand({ jwksFile: path, algorithms: ["ES256"] });
    const first = await sign(ec.privateKey, { sub: "1" }, { alg: "ES256", kid: "a" });
    const second = await sign(other.privateKey, { sub: "2" }, { alg: "ES256", kid: "b" });
    expect(await verifier.verify(first)).toEqual({ sub: "1" });
    write(JSON.stringify({ keys: [toJwk(other.publicKey, { kid: "b" })] }));
    expect(verifier.verify(first)).toEqual({ sub: "1" });
    clock.advance(10_000);
    expect(await verifier.verify(first)).toBeUndefined();
    expect(await verifier.verify(second)).toEqual({ sub: "2" });
  });

  it("changes nothing while it can't be used", async () => {
    write(JSON.stringify({ keys: [toJwk(ec.publicKey, {})] }));
    const { verifier, clock } = publicStand({ jwksFile: path, algorithms: ["ES256"] });
    const token = await sign(ec.privateKey, { sub: "1" }, { alg: "ES256" });
    write('{"keys":[');
    clock.advance(10_000);
    expect(await verifier.verify(token)).toEqual({ sub: "1" });
    rmSync(path);
    clock.advance(10_000);
    expect(await verifier.verify(token)).toEqual({ sub: "1" });
    expect(verifier.stats.keyFileFailures).toBe(2);
    write(JSON.stringify({ keys: [toJwk(other.publicKey, {})] }));
    clock.advance(10_000);
    expect(await verifier.verify(token)).toBeUndefined();
  });

  it("has to be there at the start", () => {
    const jwksFile = join(folder, "none.json");
    expect(() => jwtVerifier({ jwksFile, algorithms: ["ES256"] })).toThrow(/can't be read: ENOENT/);
  });
});

describe("options of a verifier", () => {
  const key = toPem(rsa.publicKey);
  it.each<[string, object, RegExp]>([
    [
      "no keys",
      { algorithms: ["RS256"] },
      /exactly one of jwksFile, jwksUrl, jwks, key, secret, got none/,
    ],
    ["two kinds", { key, secret: SECRET, algorithms: ["RS256"] }, /got key and secret/],
    ["no algorithms", { key }, /algorithms must list some of RS256/],
    ["an empty list", { key, algorithms: [] }, /algorithms must list some of RS256/],
    ["none", { key, algorithms: ["none"] }, /algorithms must list some of RS256/],
    ["HMAC by a public key", { key, algorithms: ["RS256", "HS256"] }, /for public keys, got/],
    ["signatures by a secret", { secret: SECRET, algorithms: ["HS256", "RS256"] }, /for a secret/],
    [
      "a short secret",
      { secret: "hunter2", algorithms: ["HS256"] },
      /at least 32 bytes, got 7 bytes/,
    ],
    ["no PEM", { key: "hunter2", algorithms: ["RS256"] }, /key must be a public key/],
    ["no set", { jwks: {}, algorithms: ["RS256"] }, /jwks must be a key set/],
    ["an empty set", { jwks: { keys: [] }, algorithms: ["RS256"] }, /with a key in it/],
    [
      "a set with a secret",
      { jwks: { keys: [{ kty: "oct", k: "hunter2" }] }, algorithms: ["RS256"] },
      /public keys only/,
    ],
    [
      "a set with a private key",
      { jwks: { keys: [rsa.privateKey.export({ format: "jwk" })] }, algorithms: ["RS256"] },
      /public keys only/,
    ],
    [
      "a private key",
      { key: rsa.privateKey.export({ type: "pkcs8", format: "pem" }), algorithms: ["RS256"] },
      /key must be a public key/,
    ],
    ["no place", { key, algorithms: ["RS256"], header: false }, /needs a header or a cookie/],
    [
      "a nameless cookie",
      { key, algorithms: ["RS256"], cookie: "" },
      /cookie must be a non-empty string, got ""/,
    ],
    [
      "no issuer",
      { key, algorithms: ["RS256"], issuer: [] },
      /issuer must be a list of 1 to 1000 items, got 0/,
    ],
    ["a misspelt one", { key, algorithm: "RS256" }, /unknown option "algorithm"/],
    [
      "a long tolerance",
      { key, algorithms: ["RS256"], clockToleranceSeconds: 301 },
      /clockToleranceSeconds must be a whole number from 0 to 300/,
    ],
    ["no listener", { key, algorithms: ["RS256"], onRejected: 1 }, /onRejected must be a function/],
  ])("with %s are refused", (_, options, message) => {
    const make = () => jwtVerifier(options as JwtOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(/^(?!.*hunter2)/s);
  });
});
