// A custom adapter, for a server without one in Sluice: the request handler decides, and the adapter translates.
// Here it is in front of a line protocol: `GET /path` in, a status and the RateLimit headers out.

import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { createRequestHandler } from "sluice/http";
import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const policy = createPolicy({
  rules: { version: 1, rules: [{ id: "lines", limit: "2/minute" }] },
  clock: new ManualClock(), // Leave it out: here it makes the output the same each time.
});
const requestHandler = createRequestHandler(policy, { legacyHeaders: false });

const server = createServer((socket) => {
  createInterface(socket).on("line", async (line) => {
    const [method, target] = line.split(" ");
    const peer = socket.remoteAddress;
    const request = { method, target, headers: {}, peer, raw: line, readBody: () => undefined };
    const handled = await requestHandler.handle(request);
    const status = handled.refusal?.status ?? 200;
    socket.write(`${status} ${handled.lines}`);
    await handled.finish({ status }); // Settles what is held, once; nothing here is.
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");

const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
client.write("GET /a\nGET /b\nGET /c\n");
let answers = "";
for await (const chunk of client) {
  answers += chunk;
  if (answers.match(/RateLimit:/g)?.length === 3) break;
}
console.log(answers.replaceAll("\r\n", "\n").trim());
server.close();

// Prints:
// 200 RateLimit-Policy: "lines";q=2;w=60
// RateLimit: "lines";r=1;t=60
// 200 RateLimit-Policy: "lines";q=2;w=60
// RateLimit: "lines";r=0;t=60
// 429 RateLimit-Policy: "lines";q=2;w=60
// RateLimit: "lines";r=0;t=60
