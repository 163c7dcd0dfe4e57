// Users by a verified token. Two tokens of one user share a limit. A forged token is not trusted, and its sender is
// counted by address instead.

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fixedWindow } from "sluice";
import { jwtVerifier } from "sluice/jwt";
import { rateLimit } from "sluice/node";

const secret = "at least 32 bytes, from a secret store";
const jwt = jwtVerifier({
  secret,
  algorithms: ["HS256"],
  onRejected: ({ reason }) => console.log(`-- a token was rejected: ${reason}`),
});
const limited = rateLimit({
  limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
  key: "user",
  onMissing: "ip",
  identity: { jwt, user: { claim: "sub" } },
});
const server = createServer(limited.wrap((_request, response) => response.end("hello")));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

/** What a login service does, in short. */
function sign(claims: object, key: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${encode({ alg: "HS256" })}.${encode(claims)}`;
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}

async function ask(who: string, token: string): Promise<void> {
  const { status } = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  console.log(`${who}: ${status}`);
}

await ask("ann", sign({ sub: "ann", session: 1 }, secret));
await ask("ann", sign({ sub: "ann", session: 2 }, secret));
await ask("ann", sign({ sub: "ann", session: 3 }, secret));
await ask("bob", sign({ sub: "bob" }, secret));
await ask("a forger as bob", sign({ sub: "bob" }, "a key that is not the issuer's"));
await ask("bob", sign({ sub: "bob" }, secret));
console.log(`${jwt.stats.verified} verified, ${jwt.stats.remembered} known from before`);
server.close();
server.closeAllConnections();
await limited.close();

// Prints:
// ann: 200
// ann: 200
// ann: 429
// bob: 200
// -- a token was rejected: signature
// a forger as bob: 200
// bob: 200
// 4 verified, 1 known from before
