// A server that answers with whatever bytes a test wants, for the tests of the client.

import { type AddressInfo, createServer, type Socket } from "node:net";
import { onStop } from "sluice-test-servers";

/** A server that writes what it likes to each connection once a request has arrived. Returns its URL. */
export async function serve(
  answer: (socket: Socket, count: number, data: string) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => answer(socket, ++count, String(data)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The lines before the body of a response. */
export const head = (status: number, ...fields: string[]) =>
  `${[`HTTP/1.1 ${status} Any`, ...fields].join("\r\n")}\r\n\r\n`;
export const OK = `${head(200, "Content-Length: 2")}ok`;
