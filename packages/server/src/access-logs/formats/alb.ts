// The access logs of AWS application load balancers: fields with spaces between them, some in quotes, a whole URL in the
// request. https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html

import { toBareAddress } from "sluice/internals";
import type { EntryNeeds, LogEntry } from "../log-entry.js";
import type { LineReader, LogFormat } from "../log-format.js";
import {
  endOfQuoted,
  indexOfByte,
  QUOTE,
  readRequestLine,
  SPACE,
  toText,
  unescaped,
} from "./bytes.js";
import { parseTime } from "./times.js";

const TIME = 1;
const CLIENT = 3;
const STATUS = 8;
const BODY_BYTES = 11;
const REQUEST = 12;
const USER_AGENT = 13;

/** The format. */
export const alb: LogFormat = {
  name: "alb",
  title: "AWS application load balancer",
  facts: {
    user: false,
    host: true,
    tenant: false,
    tier: false,
    apiKey: false,
    status: true,
    bodyBytes: true,
    forwardedFor: false,
    headers: new Set(["user-agent"]),
    attributes: new Set<string>(),
  },
  createReader: (needs) => new AlbReader(needs),
};

class AlbReader implements LineReader {
  problem = "";
  readonly #readsUserAgent: boolean;
  /** Where each field starts and ends, quotes left out. */
  readonly #starts = new Int32Array(USER_AGENT + 1);
  readonly #ends = new Int32Array(USER_AGENT + 1);

  constructor({ headers }: EntryNeeds) {
    this.#readsUserAgent = headers.size > 0;
  }

  read(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    if (!this.#split(bytes, from, to)) return this.#fail("cut off");
    entry.atMs = parseTime(this.#field(bytes, TIME));
    if (Number.isNaN(entry.atMs)) return this.#fail(`no time in field ${TIME + 1}`);
    const ip = toBareAddress(this.#field(bytes, CLIENT));
    if (ip === undefined) return this.#fail("the client is not an address");
    const status = Number(this.#field(bytes, STATUS));
    // A dash: the load balancer could not pass the request on, and the client got nothing.
    entry.status = status >= 100 && status <= 999 ? status : 0;
    const size = Number(this.#field(bytes, BODY_BYTES));
    entry.bodyBytes = Number.isSafeInteger(size) && size >= 0 ? size : -1;
    entry.ip = ip;
    if (!readRequestLine(bytes, this.#starts[REQUEST], this.#ends[REQUEST], entry))
      return this.#fail("no request line");
    entry.host = toHost(entry.path);
    entry.headers = this.#readsUserAgent
      ? { "user-agent": unescaped(this.#field(bytes, USER_AGENT)) }
      : undefined;
    return true;
  }

  #split(bytes: Buffer, from: number, to: number): boolean {
    let at = from;
    for (let field = 0; field <= USER_AGENT; field++) {
      if (at >= to) return false;
      const isQuoted = bytes[at] === QUOTE;
      const start = isQuoted ? at + 1 : at;
      const end = isQuoted ? endOfQuoted(bytes, start, to) : indexOfByte(bytes, SPACE, at, to);
      if (end < 0) return false;
      this.#starts[field] = start;
      this.#ends[field] = end;
      at = isQuoted ? end + 2 : end + 1;
    }
    return true;
  }

  #field(bytes: Buffer, field: number): string {
    return toText(bytes, this.#starts[field], this.#ends[field]);
  }

  #fail(problem: string): false {
    this.problem = problem;
    return false;
  }
}

/** `https://api.example.com:443/path` names its host. */
function toHost(target: string): string | undefined {
  const at = target.indexOf("://");
  if (at < 0) return undefined;
  const end = target.indexOf("/", at + 3);
  return target.slice(at + 3, end < 0 ? undefined : end);
}
