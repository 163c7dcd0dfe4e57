// Keys at a URL. When the issuer adds a key, tokens signed with it work without a restart; when the issuer is down,
// they continue to work.

import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { jwtVerifier } from "sluice/jwt";
import { ManualClock } from "sluice/testing";

const pairs = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>();
let isDown = false;

/** What the issuer publishes. */
const issuer = createServer((_request, response) => {
  console.log("-- the issuer is asked for its keys");
  if (isDown) response.writeHead(503).end();
  else {
    const keys = [...pairs].map(([kid, { publicKey }]) => {
      return { ...publicKey.export({ format: "jwk" }), kid };
    });
    response.end(JSON.stringify({ keys }));
  }
});
await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
const { port } = issuer.address() as AddressInfo;

const clock = new ManualClock(Date.UTC(2026, 0, 1));
const jwt = jwtVerifier({
  jwksUrl: `http://127.0.0.1:${port}/jwks`,
  jwksMaxAgeMs: 600_000,
  jwksStaleMs: 86_400_000,
  algorithms: ["ES256"],
  onKeysFailed: ({ message }) => console.log(`-- ${message.replace(String(port), "PORT")}`),
  clock,
});

/** What a login service does, in short. */
function signBy(kid: string, claims: object): string {
  const { privateKey: key } = pairs.get(kid) as { privateKey: KeyObject };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${encode({ alg: "ES256", kid })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

async function show(kid: string, sub: string): Promise<void> {
  const claims = await jwt.verify(signBy(kid, { sub }));
  console.log(`${sub}, by key ${kid}: ${claims === undefined ? "rejected" : "verified"}`);
}

pairs.set("2026-01", generateKeyPairSync("ec", { namedCurve: "P-256" }));
await show("2026-01", "ann");
await show("2026-01", "bob");
pairs.set("2026-02", generateKeyPairSync("ec", { namedCurve: "P-256" }));
clock.advance(60_000);
await show("2026-02", "ann");
isDown = true;
clock.advance(3_600_000);
await jwt.fetchKeys();
await show("2026-02", "cleo");
issuer.close();
issuer.closeAllConnections();

// Prints:
// -- the issuer is asked for its keys
// ann, by key 2026-01: verified
// bob, by key 2026-01: verified
// -- the issuer is asked for its keys
// ann, by key 2026-02: verified
// -- the issuer is asked for its keys
// -- http://127.0.0.1:PORT/jwks: it answered with status 503
// cleo, by key 2026-02: verified
