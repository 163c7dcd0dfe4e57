// The command as a process of its own, pointed at a server that closes each connection as it is accepted:
// `fetch` then never settles, and a process without anything else to do would end as if all were well.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const COMMAND = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

it("a command whose server drops every connection ends with exit code 3 and says so", async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const admin = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [COMMAND, "reload", "--admin", admin]);
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, "close");
  server.close();
  expect({ code, said }).toEqual({ code: 3, said: expect.stringContaining("could not reach") });
}, 60_000);
