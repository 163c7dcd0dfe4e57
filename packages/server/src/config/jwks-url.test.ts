// A configuration whose tokens are verified by keys at a URL, from the file to the claims.

import { generateKeyPairSync, sign } from "node:crypto";
import type { TokenVerifier } from "sluice/jwt";
import { afterEach, expect, it } from "vitest";
import { goodFile } from "../../test/config/bad-cases.js";
import { startUpstream, stopAll } from "../../test/proxy-fixture.js";
import { parseConfig } from "./load.js";

afterEach(stopAll);

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

function toToken(claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: "ES256", kid: "a" })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${signed}.${signature.toString("base64url")}`;
}

it("verifies tokens by the keys that identity.jwt.jwksUrl has", async () => {
  const key = { ...publicKey.export({ format: "jwk" }), kid: "a" };
  const url = await startUpstream((_, response) => response.end(JSON.stringify({ keys: [key] })));
  const jwt = `jwksUrl: ${url}/jwks, jwksMaxAgeMs: 1m, jwksStaleMs: 2h, algorithms: [ES256]`;
  const { identity } = parseConfig(
    `${goodFile}identity: { jwt: { ${jwt} }, user: { claim: sub } }\n`,
  );
  const headers = { authorization: `Bearer ${toToken({ sub: "42" })}` };
  const view = { headers } as unknown as Parameters<TokenVerifier["claimsOf"]>[0];
  expect(await identity.jwt?.claimsOf(view)).toEqual({ sub: "42" });
});
