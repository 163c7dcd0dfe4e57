// Logins counted by account: guessing the password of one account is stopped, from however many addresses it comes.
// The account's name is read from the body, which the handler can still read as a whole.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { fixedWindow } from "sluice";
import { rateLimit } from "sluice/node";

const limited = rateLimit({
  name: "login",
  limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
  key: "body:account",
  onMissing: "refuse",
  when: { status: [401] },
});
const server = createServer(
  limited.wrap(async (request, response) => {
    const { password } = (await json(request)) as { password: string };
    response.statusCode = password === "correct horse" ? 200 : 401;
    response.end();
  }),
);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`;

async function login(account: string, password: string): Promise<void> {
  const body = JSON.stringify({ account, password });
  const headers = { "content-type": "application/json" };
  const { status } = await fetch(url, { method: "POST", headers, body });
  console.log(`${account} with "${password}": ${status}`);
}

await login("ann", "correct horse"); // Only failures count.
await login("ann", "123456");
await login("ANN ", "password"); // The same account, written in another way.
await login("ann", "letmein");
await login("bob", "123456");
const empty = await fetch(url, { method: "POST" });
console.log(`no account: ${empty.status}`);
server.close();
server.closeAllConnections();
await limited.close();

// Prints:
// ann with "correct horse": 200
// ann with "123456": 401
// ANN  with "password": 401
// ann with "letmein": 429
// bob with "123456": 401
// no account: 403
