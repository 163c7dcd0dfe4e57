// The load of a soak: an upstream that answers immediately, and clients that pipeline requests over raw sockets:
// plain ones, bodies, refusals, permits, thousands of client addresses, malformed heads, and connections that
// are cut in the middle. A child of gateway-soak.mjs.

import { connect, createServer } from "node:net";

const CLIENTS = 8;
const PIPELINED = 8;
const REQUESTS_PER_CONNECTION = 400;

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nRateLimit: x\r\nContent-Length: 5\r\n\r\nhello";

const upstream = createServer((socket) => {
  // Requests here have no body or one of the letter x, which no head ends in: counting ends is enough.
  let tail = "";
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("error", () => {});
  socket.on("data", (piece) => {
    const text = tail + piece;
    const ends = text.split("\r\n\r\n").length - 1;
    tail = text.slice(-3);
    if (ends > 0) socket.write(ANSWER.repeat(ends));
  });
});

let sent = 0;

/** One request; each has its turn. */
function next() {
  const id = sent++;
  const head = `Host: example.com\r\nX-Forwarded-For: 10.${id % 50}.${id % 200}.7\r\nUser-Agent: soak\r\n`;
  switch (id % 10) {
    case 0:
      return `POST /post/${id} HTTP/1.1\r\n${head}Content-Length: 200\r\n\r\n${"x".repeat(200)}`;
    case 1:
      return `GET /few/${id} HTTP/1.1\r\n${head}\r\n`;
    case 2:
      return `GET /places/${id} HTTP/1.1\r\n${head}\r\n`;
    case 3:
      return `GET //odd/../${id}%7e HTTP/1.1\r\n${head}Connection: X-Odd\r\nX-Odd: 1\r\n\r\n`;
    case 4:
      return `GET /rate_limit HTTP/1.1\r\n${head}\r\n`;
    default:
      return `GET /plain/${id}?q=${id} HTTP/1.1\r\n${head}\r\n`;
  }
}

/** Sends requests on one connection, answers counted by status; cut off in the middle now and then. */
function converse(url, count, statuses, isCut) {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let open = 0;
    let left = count;
    let tail = "";
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    const fill = () => {
      let text = "";
      while (open < PIPELINED && left > 0) {
        text += next();
        open++;
        left--;
      }
      if (text !== "") socket.write(text);
      if (isCut && left === 0) socket.resetAndDestroy();
      else if (open === 0) socket.destroy();
    };
    socket.on("connect", fill);
    socket.on("data", (piece) => {
      const text = tail + piece;
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses[status] = (statuses[status] ?? 0) + 1;
        open--;
      }
      // Never so long that it holds a whole status line.
      tail = text.slice(-12);
      fill();
    });
    socket.on("error", () => {});
    socket.on("close", resolve);
  });
}

async function run({ url, count }) {
  const startMs = performance.now();
  const statuses = {};
  let left = count;
  let connections = 0;
  const work = async () => {
    while (left > 0) {
      const share = Math.min(left, REQUESTS_PER_CONNECTION);
      left -= share;
      connections++;
      await converse(url, share, statuses, connections % 10 === 0);
      if (connections % 5 === 0) await breakOff(url);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  process.send({ kind: "done", statuses, ms: Math.round(performance.now() - startMs) });
}

/** A head that is malformed; the gateway answers and closes. */
function breakOff(url) {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", resolve);
    socket.resume();
    socket.end("GET / HTTP/1.1\r\nBad Name: x\r\n\r\n");
  });
}

process.on("message", run);
process.on("disconnect", () => process.exit());
upstream.listen(0, "127.0.0.1", () => {
  process.send({ kind: "upstream", backend: `http://127.0.0.1:${upstream.address().port}` });
});
