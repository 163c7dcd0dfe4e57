// Requests by the thousand, out of a seed: most are nearly right, some are right, and many are spoilt in one
// place, where parsers were seen to differ. What comes out is bytes, one for each character.

/** Draws a number from 0 to just below `below`. */
export type Draw = (below: number) => number;

/** A generator that gives the same for the same seed (mulberry32). */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "M-SEARCH", "QUERY"];
const ODD_METHODS = ["get", "BREW", "CONNECT", "PRI", "SOURCE", "DESCRIBE", "", "GE", "GETT"];
const TARGETS = ["/", "/a", "/a/b?c=d", "/a?b+c", "http://a/b", "/a[b]"];
const ODD_TARGETS = [
  "*",
  "",
  "a",
  "/a#b",
  "http:/a",
  "//a",
  "/a\\b",
  "http://b/",
  "/\x7f",
  "/a\tb",
  "/\xe9",
];
const VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"];
const ODD_VERSIONS = [
  "HTTP/1.2",
  "HTTP/2.0",
  "HTTP/0.9",
  "http/1.1",
  "RTSP/1.0",
  "ICE/1.0",
  "",
  "HTTP/1.1 ",
];
const NAMES = [
  "X-A",
  "x-a",
  "Accept",
  "Cookie",
  "User-Agent",
  "Authorization",
  "Set-Cookie",
  "X_A",
  "~!#$",
];
const ODD_NAMES = ["", "X A", "X-A ", " X-A", "X(A)", "X-\xe9", "X\0", "X\t", "X\r", "X\n", "Host"];
const VALUES = [
  "b",
  "",
  "a, b",
  "  padded\t ",
  "\xe9t\xe9",
  "a:b",
  '"q"',
  "x".repeat(300),
  "a;b=c",
];
const ODD_VALUES = ["a\0b", "a\rb", "a\nb", "a\r\n b", "a\x7fb", "a\x01b", "\x0b", "a\r\r", "\x0c"];
const CONNECTIONS = [
  ...["close", "keep-alive", "Upgrade", "Close", "keep-alive, Upgrade", "x, close , y", ",close"],
  ...["", "closed", "close;", "TE", "\xa0close", "keep-alive\xa0", "close\tx"],
];
const LENGTHS = [
  "+5",
  "-5",
  "5,5",
  "5, 5",
  "0x5",
  "5 5",
  "",
  "5a",
  "5;",
  "5.",
  "\xb5",
  "9".repeat(20),
];
const CODINGS = [
  ...[
    "chunked",
    "Chunked",
    "CHUNKED",
    "gzip, chunked",
    "chunked, gzip",
    "identity",
    "",
    "chunked,",
  ],
  ...["xchunked", "chunked x", "chunked;a", "\tchunked ", "chunked\x0b", ", chunked", '"chunked"'],
];
const EXTENSIONS = [
  ...["", "", "", ";a", ";a=b", ';a="b c"', ";a=b;c", ";a;b=c", " ", "\t", ";", ";a=", "; a=b"],
  ...[";a =b", ";a= b", ';a="b', ';a="\\""', ";a b", ";=b", ";\xe9", ';a="\xe9"', ';a="b"c', ";;"],
  ...[";a=b c", ";a=b=c", ';"a"', ";a,b", ";a\0", ";a\r", ";a\n", ";a\x7f", " ;a=b", ';a="\t"'],
];
const TRAILERS = [
  "X-A: b\r\n",
  "X-A:\r\n",
  "X-A : b\r\n",
  " X-A: b\r\n",
  "X-A\r\n",
  "X: a\nY: b\r\n",
  "X: \0\r\n",
];
const DATA_ENDS = ["\n", "\r", "", "x\n", "\rx", "x\r\n", " \r\n", "\r\r\n", "\r\n\r\n"];
const LINE_ENDS = ["\n", "\r", "\r\r\n", "\n\r\n", "\r\n ", "\r\n\t", ""];
const SPICES = '\0\r\n\t :;,=+-"\\/?#%05aFx\x7f\x80\xa0\xff';

/** Makes requests, one draw after the other. */
export class RequestMill {
  readonly #draw: Draw;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  /** What a client sends on one connection: some requests, mostly one of them spoilt. */
  stream(): string {
    let text = "";
    for (let left = 1 + this.#draw(3); left > 0; left--) text += this.#gap() + this.#request();
    return this.#once(3) ? this.#spoil(text) : text;
  }

  /** The same bytes, as they might arrive. */
  pieces(text: string): string[] {
    if (this.#once(3)) return [text];
    if (this.#once(8)) return [...text];
    const cuts = Array.from({ length: 1 + this.#draw(5) }, () => this.#draw(text.length + 1));
    cuts.sort((a, b) => a - b);
    return [0, ...cuts].map((cut, i) => text.slice(cut, cuts[i] ?? text.length));
  }

  #request(): string {
    const version = this.#one(VERSIONS, ODD_VERSIONS);
    const line = `${this.#one(METHODS, ODD_METHODS)} ${this.#one(TARGETS, ODD_TARGETS)} ${version}`;
    const fields = [this.#once(40) ? "" : `Host: a${this.#end()}`];
    for (let left = this.#draw(4); left > 0; left--) fields.push(this.#field());
    if (this.#once(4)) fields.push(this.#line("Connection", this.#pick(CONNECTIONS)));
    if (this.#once(12)) fields.push(this.#line("Upgrade", this.#pick(["websocket", "h2c", ""])));
    if (this.#once(20)) fields.push(this.#line("Expect", this.#pick(["100-continue", "x"])));
    const [framing, body] = this.#body();
    fields.splice(this.#draw(fields.length + 1), 0, framing);
    return `${line}${this.#end()}${fields.join("")}${this.#end()}${body}`;
  }

  #field(): string {
    return this.#line(this.#one(NAMES, ODD_NAMES), this.#one(VALUES, ODD_VALUES));
  }

  #line(name: string, value: string): string {
    return `${name}:${this.#once(4) ? "" : " "}${value}${this.#end()}`;
  }

  /** The fields that frame a body, and the body. */
  #body(): [string, string] {
    const kind = this.#draw(30);
    if (kind < 9) return ["", ""];
    if (kind < 18) return this.#sized();
    if (kind < 29) return [this.#line("Transfer-Encoding", this.#coding()), this.#chunks()];
    const [length, body] = this.#sized();
    const coding = this.#line("Transfer-Encoding", this.#coding());
    return this.#once(2) ? [length + coding, body] : [coding + length, this.#chunks()];
  }

  #coding(): string {
    return this.#once(20) ? this.#pick(CODINGS) : "chunked";
  }

  #sized(): [string, string] {
    const body = this.#text();
    const length = this.#once(20) ? this.#pick(LENGTHS) : `${body.length}`;
    const again = this.#once(30) ? this.#line("content-length", length) : "";
    const name = this.#once(60) ? "Content_Length" : "Content-Length";
    return [this.#line(name, length) + again, body];
  }

  #chunks(): string {
    let text = "";
    for (let left = this.#draw(4); left > 0; left--) {
      const data = this.#text() || "x";
      const size = this.#once(40) ? this.#pick(LENGTHS) : this.#size(data.length);
      const end = this.#once(30) ? this.#pick(DATA_ENDS) : "\r\n";
      text += `${size}${this.#extension()}${this.#end()}${data}${end}`;
    }
    const trailers = this.#once(10) ? this.#pick(TRAILERS) : "";
    return `${text}${this.#once(20) ? "00" : "0"}${this.#extension()}${this.#end()}${trailers}${this.#end()}`;
  }

  #size(length: number): string {
    const digits = length.toString(16);
    return this.#once(6) ? `00${digits.toUpperCase()}` : digits;
  }

  #extension(): string {
    return this.#once(12) ? this.#pick(EXTENSIONS) : "";
  }

  /** Bodies that look like what follows them are the ones that are taken for it. */
  #text(): string {
    const kind = this.#draw(5);
    if (kind === 0) return "";
    if (kind === 1) return "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    if (kind === 2) return "0\r\n\r\n";
    return "\xe9".repeat(this.#draw(40));
  }

  #gap(): string {
    return this.#once(12) ? this.#pick(["\r\n", "\r\n\r\n", "\n", "\r", " ", "\r\n\r", "\0"]) : "";
  }

  #end(): string {
    return this.#once(400) ? this.#pick(LINE_ENDS) : "\r\n";
  }

  #spoil(text: string): string {
    const at = this.#draw(text.length + 1);
    const spice = SPICES[this.#draw(SPICES.length)];
    const behind = at + 1 + this.#draw(3);
    switch (this.#draw(4)) {
      case 0:
        return text.slice(0, at) + text.slice(behind);
      case 1:
        return text.slice(0, at) + spice + text.slice(at);
      case 2:
        return text.slice(0, at) + spice + text.slice(at + 1);
      default:
        return text.slice(0, behind) + text.slice(at);
    }
  }

  /** Whether one in `count` cases has come. */
  #once(count: number): boolean {
    return this.#draw(count) === 0;
  }

  #pick(of: readonly string[]): string {
    return of[this.#draw(of.length)] as string;
  }

  #one(good: readonly string[], odd: readonly string[]): string {
    return this.#pick(this.#once(60) ? odd : good);
  }
}
