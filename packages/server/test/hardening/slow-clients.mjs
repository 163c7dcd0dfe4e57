// A process of slow clients: opens connections and sends a byte of a request now and then. A process of its
// own, so that it takes its own file descriptors and not those of the gateway. Reports to its parent in lines:
// how many are open, and how many the gateway has closed.

import { connect } from "node:net";

const [port, count, everyMs, kind] = [...process.argv.slice(2, 5).map(Number), process.argv[5]];

/** What is sent, bit by bit: a head that never ends, or a body that never does. */
const START = {
  head: "GET /slow HTTP/1.1\r\nHost: example.com\r\n",
  body: "POST /slow HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100000\r\n\r\n",
};
const BIT = { head: "X-A: b\r\n", body: "x" };

let opened = 0;
let closed = 0;
let failed = 0;
const sockets = [];

function open() {
  const socket = connect(port, "127.0.0.1");
  let isOpen = false;
  socket.on("connect", () => {
    isOpen = true;
    opened++;
    socket.write(START[kind]);
    sockets.push(socket);
  });
  socket.on("error", () => {});
  socket.on("data", () => {});
  socket.on("close", () => {
    if (isOpen) closed++;
    else failed++;
  });
}

// In batches: a burst of all would only fill the queue of the kernel.
const BATCH = 250;
let asked = 0;
const opener = setInterval(() => {
  for (let i = 0; i < BATCH && asked < count; i++, asked++) open();
  if (asked === count) clearInterval(opener);
}, 20);

let at = 0;
setInterval(() => {
  const end = Math.min(sockets.length, at + Math.ceil(sockets.length / 20));
  for (; at < end; at++) if (sockets[at].writable) sockets[at].write(BIT[kind]);
  if (at >= sockets.length) at = 0;
}, everyMs / 20);

setInterval(() => process.stdout.write(`${opened} ${closed} ${failed}\n`), 100);
