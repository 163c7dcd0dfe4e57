// Requests whose framing is malformed or doubtful, each with a second request hidden behind it. Every line
// is a way in which two servers were seen to disagree about where a request ends.

/** One of them. */
export interface FramingCase {
  readonly name: string;
  /** The bytes before the hidden request, one for each character. */
  readonly text: string;
  /**
   * `refused`: with 400 and a closed connection. `late`: so, or cut off when its time is up, since as far
   * as it got it could still become a request. `body`: what is hidden is the body of a request that has
   * one meaning, and is forwarded with it. `alone`: it is served, and its connection closed behind it.
   */
  readonly outcome: "refused" | "late" | "body" | "alone";
}

/** The request that must never be seen on its own; `LENGTH` in a case is its length. */
export function toHidden(id: number): string {
  return `GET /hidden-${id} HTTP/1.1\r\nHost: example.com\r\nX-Hidden: yes\r\n\r\n`;
}

const HOST = "Host: example.com\r\n";

function post(fields: string, body = "0\r\n\r\n"): string {
  return `POST /first HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
}

function refused(group: string, texts: readonly string[]): FramingCase[] {
  return texts.map((text) => ({ name: `${group}: ${shown(text)}`, text, outcome: "refused" }));
}

function late(group: string, texts: readonly string[]): FramingCase[] {
  return texts.map((text) => ({ name: `${group}: ${shown(text)}`, text, outcome: "late" }));
}

function shown(text: string): string {
  const whole = JSON.stringify(text.replace(HOST, ""));
  return whole.length > 110 ? `${whole.slice(0, 60)}…${whole.slice(-48)}` : whole;
}

const CHUNKED = "Transfer-Encoding: chunked\r\n";

const bothFramings = refused("a length beside chunks", [
  post(`Content-Length: 5\r\n${CHUNKED}`),
  post(`${CHUNKED}Content-Length: 5\r\n`),
  post(`Content-Length: 0\r\n${CHUNKED}`),
  post(`${CHUNKED}Content-Length: 0\r\n`),
  post(`content-length: 5\r\ntransfer-encoding: CHUNKED\r\n`),
  post(`Content-Length: 100\r\nX-A: b\r\n${CHUNKED}`),
  post(`Content-Length: 5\r\n${CHUNKED}Connection: Content-Length\r\n`),
  post(`Content-Length: 5\r\n${CHUNKED}Connection: Transfer-Encoding\r\n`),
  ...["GET", "HEAD", "DELETE", "OPTIONS", "PATCH"].map((method) =>
    post(`Content-Length: 5\r\n${CHUNKED}`).replace("POST", method),
  ),
  post("Content-Length: 5\r\nTransfer-Encoding: identity\r\n", "hello"),
  post("Content-Length: 5\r\nTransfer-Encoding: \r\n", "hello"),
  post("Content-Length: 5\r\nTransfer_Encoding: chunked\r\n", "hello"),
  post(`Content_Length: 5\r\n${CHUNKED}`),
]);

const lengths = refused(
  "an invalid length",
  [
    ...[
      "+5",
      "-5",
      "-1",
      "- 5",
      "0x5",
      "5.0",
      "5e0",
      "five",
      "5;",
      "5,",
      ",5",
      "5,5",
      "5, 5",
      "5 5",
      "5\t5",
    ],
    ...[
      '"5"',
      "'5'",
      "5_0",
      "1,000",
      "NaN",
      "Infinity",
      "0b101",
      "0o5",
      "5h",
      "5\0",
      "\x0b5",
      "5\x0b",
      "\x0c5",
    ],
    ...[
      "5\x0c",
      "5\x80",
      "\xa05",
      "5\x7f",
      "18446744073709551616",
      "18446744073709551621",
      "9".repeat(40),
    ],
    ...["9223372036854775808", "", "٥", "5\x01", "5\\", "5/5", "(5)", "5 ; x", "0 5"],
  ].map((value) =>
    post(
      `Content-Length: ${Buffer.from(value, value === "٥" ? "utf8" : "latin1").toString("latin1")}\r\n`,
      "hello",
    ),
  ),
);

const doubledLengths = refused("a length twice", [
  post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
  post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
  post("Content-Length: 6\r\nContent-Length: 5\r\n", "hello"),
  post("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"),
  post("Content-Length: 5\r\nX-A: b\r\ncontent-length: 0\r\n", "hello"),
  post("Content-Length: 5\r\nContent-Length: 5\r\nContent-Length: 5\r\n", "hello"),
  post("Content-Length: 5\r\nContent-Length:\r\n", "hello"),
  post("Content-Length: 5\r\nContent_Length: 5\r\n", "hello"),
]);

const codings = refused(
  "codings",
  [
    ...[
      "chunked, identity",
      "identity",
      "identity, chunked",
      "gzip, chunked",
      "gzip",
      "deflate",
      "xchunked",
    ],
    ...[
      "chunkedx",
      "chunked;q=1",
      "chunked; x",
      "chunked, chunked",
      "chunked,",
      ",chunked",
      "\x0bchunked",
    ],
    ...[
      "chunked\x0b",
      "\0chunked",
      "chunked\0",
      '"chunked"',
      "'chunked'",
      "chun ked",
      "chunked gzip",
      "chunk",
    ],
    ...[
      "x-chunked",
      "chunked\x0c",
      "\x0cchunked",
      "chunked\xa0",
      "\xa0chunked",
      "[chunked]",
      "cow",
      "",
      "chunked\x7f",
    ],
    ...[
      "compress, chunked",
      "chunked, gzip",
      "chunked\tx",
      "trailers, chunked",
      "chunKed, cow",
      "\x85chunked",
    ],
  ].map((value) => post(`Transfer-Encoding: ${value}\r\n`)),
);

const doubledCodings = refused("codings twice", [
  post(`${CHUNKED}${CHUNKED}`),
  post(`${CHUNKED}Transfer-Encoding: identity\r\n`),
  post(`Transfer-Encoding: identity\r\n${CHUNKED}`),
  post(`Transfer-Encoding: cow\r\n${CHUNKED}`),
  post(`${CHUNKED}Transfer-Encoding: cow\r\n`),
  post(`${CHUNKED}transfer_encoding: chunked\r\n`),
  post(`Transfer-Encoding:\r\n${CHUNKED}`),
]);

const names = refused(
  "an invalid name",
  [
    ...[
      "Transfer-Encoding : chunked",
      "Transfer-Encoding\t: chunked",
      " Transfer-Encoding: chunked",
    ],
    ...[
      "\tTransfer-Encoding: chunked",
      "Transfer-Encoding\0: chunked",
      "Transfer-Encoding\x0b: chunked",
    ],
    ...[
      "Transfer Encoding: chunked",
      "Transfer-Encoding;: chunked",
      "\0Transfer-Encoding: chunked",
    ],
    ...[
      "Transfer-Encoding\xa0: chunked",
      "Transfer-Encoding\r: chunked",
      "Transfer-Encoding\n: chunked",
    ],
    ...["Transfer_Encoding: chunked", "Transfer-Encoding chunked", "Transfer-Encoding=chunked"],
    ...[
      "Content-Length : 5",
      "Content-Length\t: 5",
      "Content-Length\0: 5",
      "Content Length: 5",
      "Content_Length: 5",
    ],
    ...[
      "Content-Length\x0b: 5",
      "\xa0Content-Length: 5",
      "Content-Length\xa0: 5",
      "Content-Length 5",
      "Content-Length=5",
    ],
    ...[
      "X A: b",
      "X-A : b",
      ": b",
      ":",
      "X-A",
      "X-A\0: b",
      "X-(A): b",
      "X-\xe9: b",
      "X-A\x7f: b",
      "X,A: b",
      '"X": b',
    ],
    ...["X@A: b", "X[A]: b", "X/A: b", "X{A}: b", "X\\A: b", "X?A: b", "X<A>: b"],
  ].map((line) => post(`${line}\r\n`, "")),
);

const values = refused(
  "a value with a control in it",
  [
    "b\0c",
    "\0",
    "b\x01c",
    "b\x7fc",
    "b\rc",
    "b\x1bc",
    "b\x0bc",
    "b\rX-B: c",
    "b\r X-B: c",
    "b\r\r",
  ].map((value) => post(`X-A: ${value}\r\n`, "")),
);

const lines = refused("line ends and folds", [
  `GET /first HTTP/1.1\n${HOST}\r\n`,
  `GET /first HTTP/1.1\r\nHost: example.com\n\r\n`,
  "GET /first HTTP/1.1\nHost: example.com\n\n",
  `GET /first HTTP/1.1\r\n${HOST}\n`,
  `GET /first HTTP/1.1\r\n${HOST}X-A: b\n${CHUNKED}\r\n0\r\n\r\n`,
  `GET /first HTTP/1.1\r${HOST}\r\n`,
  "GET /first HTTP/1.1\rHost: example.com\r\r",
  `GET /first HTTP/1.1\r\n${HOST}\r\r\n`,
  `GET /first HTTP/1.1\r\r\n${HOST}\r\n`,
  `GET /first HTTP/1.1\r\n${HOST}X-A: b\r\r\n\r\n`,
  `GET /first HTTP/1.1\r\n ${HOST}\r\n`,
  post("X-A: b\r\n c\r\n", ""),
  post("X-A:\r\n\tb\r\n", ""),
  post("Content-Length: 5\r\n 5\r\n", "hello"),
  post("Content-Length:\r\n 5\r\n", "hello"),
  post("Transfer-Encoding:\r\n chunked\r\n"),
  post("Transfer-Encoding: chunked\r\n x\r\n"),
  post("Transfer-Encoding: x,\r\n chunked\r\n"),
  "GET /first HTTP/1.1\r\nHost: example.com\r\n .org\r\n\r\n",
]);

const chunkSizes = refused(
  "a chunk's size",
  [
    ...[
      "5x",
      "x",
      "-5",
      "+5",
      " 5",
      "0x5",
      "5.0",
      "5,",
      "_5",
      "5_0",
      "g",
      "5\0",
      "5\x0b",
      "\x0b5",
      "5\x80",
      "5\t",
    ],
    ...[
      "FFFFFFFFFFFFFFFFF",
      "10000000000000000",
      "ffffffffffffffff1",
      "",
      "5 5",
      "5 x",
      "'5'",
      "(5)",
      "5/",
      "5:",
      "5=a",
    ],
    ...[
      "5\r",
      "5;a\rb",
      "5;a\nb",
      "5;a\0",
      "5;\x01",
      "5;a=\x7f",
      "5;a=b\n",
      "5\n",
      '5;a="b\nc"',
      "\r",
      "\n5",
      ";a",
    ],
  ].map((size) => post(CHUNKED, `${size}\r\nhello\r\n0\r\n\r\n`)),
);

const chunks = refused("chunks", [
  post(CHUNKED, "5\r\nhelloX\r\n0\r\n\r\n"),
  post(CHUNKED, "5\r\nhello\n0\r\n\r\n"),
  post(CHUNKED, "5\r\nhello0\r\n\r\n"),
  post(CHUNKED, "5\r\nhello\r0\r\n\r\n"),
  post(CHUNKED, "5\nhello\r\n0\r\n\r\n"),
  post(CHUNKED, "5\rhello\r\n0\r\n\r\n"),
  post(CHUNKED, "4\r\nhello\r\n0\r\n\r\n"),
  post(CHUNKED, "6\r\nhello\r\n0\r\n\r\n"),
  post(CHUNKED, "0\n\n"),
  post(CHUNKED, "0\r\n\n"),
  post(CHUNKED, "0\r\n\rX"),
  post(CHUNKED, "0\r\nX-A : b\r\n\r\n"),
  post(CHUNKED, "0\r\n X-A: b\r\n\r\n"),
  post(CHUNKED, "0\r\nX-A\r\n\r\n"),
  post(CHUNKED, "0\r\nX-A: b\0\r\n\r\n"),
  post(CHUNKED, "0\r\nX-A: b\n\r\n"),
  post(CHUNKED, "0\r\nX A: b\r\n\r\n"),
  post(CHUNKED, `5;${"a".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
]);

const requestLines = refused(
  "the request line",
  [
    ...[
      "GET /first",
      "GET /first HTTP/0.9",
      "GET /first HTTP/1.2",
      "GET /first HTTP/2.0",
      "GET /first HTTP/3.0",
    ],
    ...[
      "GET /first HTTP/1.9",
      "GET /first HTTP/9.9",
      "GET /first http/1.1",
      "GET /first Http/1.1",
      "GET /first HTTP/1",
    ],
    ...[
      "GET /first HTTP/1.",
      "GET /first HTTP/11",
      "GET /first HTTP/1.10",
      "GET /first HTTP/01.1",
      "GET /first HTTP/1.1 ",
    ],
    ...[
      "GET /first HTTP /1.1",
      "GET /first HTTPS/1.1",
      "GET /first ICE/1.0",

      "GET /first HTTP/1.1 x",
    ],
    ...[
      "GET /first HTTP/-1.1",
      "GET /first HTTP/1,1",
      "GET /first HTTP/a.b",

      "GET\t/first HTTP/1.1",
    ],
    ...[
      "GET /first\tHTTP/1.1",
      " GET /first HTTP/1.1",
      "GE T /first HTTP/1.1",
      "get /first HTTP/1.1",
      "G\0ET /first HTTP/1.1",
    ],
    ...[
      "GET /fi rst HTTP/1.1",
      "GET /first\0 HTTP/1.1",
      "GET /fi\rrst HTTP/1.1",
      "GET /fi\nrst HTTP/1.1",
      "BREW /first HTTP/1.1",
    ],
    ...[
      "GET",
      "GET ",
      "GET  HTTP/1.1",
      "GET first HTTP/1.1",
      "GET * HTTP/1.1",
      "GET /first#a HTTP/1.1",
      "GET /fi%2frst HTTP/1.1",
    ],
    ...[
      "GET /fi\\rst HTTP/1.1",
      "GET /%zz HTTP/1.1",
      "GET /%00 HTTP/1.1",
      "GET ftp://example.com/first HTTP/1.1",
      "\x16\x03\x01\x02",
    ],
    ...[
      "GET http://other.example.com/first HTTP/1.1",
      "GET http:///first HTTP/1.1",
      "GET http://a@example.com/ HTTP/1.1",
      "\0\0\0\0",
    ],
    ...[
      "GET /first\x7f HTTP/1.1",
      "GET /first\x0bHTTP/1.1",
      "HTTP/1.1 200 OK",
      "GET /first HTTP/1.1\0",
      "\xef\xbb\xbfGET / HTTP/1.1",
    ],
  ].map((line) => `${line}\r\n${HOST}\r\n`),
);

const hosts = refused("the host", [
  "GET /first HTTP/1.1\r\n\r\n",
  "GET /first HTTP/1.1\r\nX-A: b\r\n\r\n",
  `GET /first HTTP/1.1\r\n${HOST}${HOST}\r\n`,
  `GET /first HTTP/1.1\r\n${HOST}host: other.example.com\r\n\r\n`,
  `GET /first HTTP/1.1\r\n${HOST}X-A: b\r\nHost:\r\n\r\n`,
  ...[
    "",
    "a b",
    "a,b",
    "a/b",
    "a@b",
    "a\\b",
    "a:b",
    "[::1",
    "a:1:2",
    "a?b",
    "a#b",
    "a\0b",
    "a:123456",
    "a\tb",
  ].map((host) => `GET /first HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  "GET /first HTTP/1.1\r\nHost : example.com\r\n\r\n",
]);

const oldVersions = refused("chunks in HTTP/1.0", [
  post(CHUNKED).replace("HTTP/1.1", "HTTP/1.0"),
  post(`Content-Length: 5\r\n${CHUNKED}`).replace("HTTP/1.1", "HTTP/1.0"),
  post(`Connection: keep-alive\r\n${CHUNKED}`).replace("HTTP/1.1", "HTTP/1.0"),
]);

const unfinished = late("no end of it yet", [
  post("Content-Length: 1000\r\n", "hello"),
  post(CHUNKED, "1000\r\nhello"),
  post(CHUNKED, "FFFFFF\r\nhello"),
]);

const bodies: FramingCase[] = [
  "Content-Length: LENGTH\r\n",
  "Content-Length:LENGTH\r\n",
  "Content-Length: \t LENGTH \r\n",
  "Content-Length: 00LENGTH\r\n",
  "Content-Length: LENGTH\r\nConnection: Content-Length\r\n",
  "Content-Length: LENGTH\r\nConnection: Transfer-Encoding, Host\r\n",
  "Content-Length: LENGTH\r\nExpect: 100-continue\r\n",
  "Content-Length: LENGTH\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n",
  "Content-Length: LENGTH\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
  "Content-Length: LENGTH\r\nTE: chunked\r\n",
  "Content-Length: LENGTH\r\nX-Transfer-Encoding: chunked\r\n",
  "Content-Length: LENGTH\r\nContent-Encoding: chunked\r\n",
  "Content-Length: LENGTH\r\nTrailer: Content-Length\r\n",
  "Content-Length: LENGTH\r\nKeep-Alive: max=1\r\nProxy-Connection: close\r\n",
].map((fields) => ({
  name: `a body: ${JSON.stringify(fields)}`,
  text: post(fields, ""),
  outcome: "body",
}));

const alone: FramingCase[] = [
  `GET /first HTTP/1.0\r\n${HOST}\r\n`,
  "GET /first HTTP/1.0\r\n\r\n",
  `GET /first HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  // Node's parser takes the version of another protocol for that of HTTP.
  `GET /first RTSP/1.0\r\n${HOST}\r\n`,
].map((text) => ({ name: `alone: ${shown(text)}`, text, outcome: "alone" }));

/** All of them. */
export const FRAMING_CASES: readonly FramingCase[] = [
  ...bothFramings,
  ...lengths,
  ...doubledLengths,
  ...codings,
  ...doubledCodings,
  ...names,
  ...values,
  ...lines,
  ...chunkSizes,
  ...chunks,
  ...requestLines,
  ...hosts,
  ...oldVersions,
  ...unfinished,
  ...bodies,
  ...alone,
];
