// A thousand followers in one process, as far as a control node can see: each asks for changes over a connection of its
// own and reads them. It writes a line when all of them have got a change, with its number.

import { connect } from "node:net";

const [port, token, count] = process.argv.slice(2);
const got = new Map();
let open = 0;

function hear(text) {
  for (const [, sequence] of text.matchAll(/"sequence":(\d+),"kind"/g)) {
    const seen = (got.get(sequence) ?? 0) + 1;
    got.set(sequence, seen);
    if (seen === Number(count)) process.stdout.write(`${sequence}\n`);
  }
}

for (let n = 0; n < Number(count); n++) {
  const socket = connect(Number(port), "127.0.0.1", () => {
    socket.write(
      `GET /v1/control/changes?after=0&hash=&node=n${n}&version=1 HTTP/1.1\r\nHost: a\r\n` +
        `Authorization: Bearer ${token}\r\n\r\n`,
    );
  });
  socket.setEncoding("utf8");
  socket.once("data", () => {
    if (++open === Number(count)) process.stdout.write("open\n");
  });
  socket.on("data", hear);
}
