// The health service of gRPC: whether the rate limit service accepts requests, asked once or watched.

import type { ServerHttp2Stream } from "node:http2";
import { MalformedError, WIRE, WireReader } from "../wire/reader.js";
import { begin, fail, reply, STATUS, send } from "./replies.js";
import type { GrpcMethod } from "./server.js";

/** What can be asked about: the server, the service by its name, and the name that envoyproxy/ratelimit has. */
const SERVICES = ["", "envoy.service.ratelimit.v3.RateLimitService", "ratelimit"];
const SERVICE_FIELD = (1 << 3) | WIRE.bytes;
/** The most watchers. Watching is for load balancers: with more, something is wrong. */
const WATCHERS_MAX = 1_000;

/** Responses as they are on the wire. */
const SERVING = Buffer.from([0x08, 1]);
const NOT_SERVING = Buffer.from([0x08, 2]);
const SERVICE_UNKNOWN = Buffer.from([0x08, 3]);

/** The health of one server. */
export class Health {
  #isServing = true;
  #hasEnded = false;
  readonly #watchers = new Set<ServerHttp2Stream>();

  /** Whether requests are taken. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** `Check`. */
  readonly check: GrpcMethod = (stream, message) => {
    const name = readName(message);
    if (name === undefined) fail(stream, STATUS.invalidArgument, "the message is malformed");
    else if (SERVICES.includes(name)) reply(stream, this.#state());
    else fail(stream, STATUS.notFound, "there is no such service");
  };

  /** `Watch`: the state now, and when it changes. */
  readonly watch: GrpcMethod = (stream, message) => {
    const name = readName(message);
    if (name === undefined) return fail(stream, STATUS.invalidArgument, "the message is malformed");
    if (this.#watchers.size >= WATCHERS_MAX) {
      return fail(stream, STATUS.resourceExhausted, `more than ${WATCHERS_MAX} watch already`);
    }
    this.#watchers.add(stream);
    stream.on("close", () => this.#watchers.delete(stream));
    begin(stream);
    // A service that is not known may come one day, says the protocol: the call continues.
    send(stream, SERVICES.includes(name) ? this.#state() : SERVICE_UNKNOWN);
    if (this.#hasEnded) stream.end();
  };

  /** Reports every service as not serving. Clients that come anyway are still served. */
  stop(): void {
    if (!this.#isServing) return;
    this.#isServing = false;
    for (const watcher of this.#watchers) send(watcher, NOT_SERVING);
  }

  /** Ends what is watched. */
  end(): void {
    this.stop();
    this.#hasEnded = true;
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  #state(): Buffer {
    return this.#isServing ? SERVING : NOT_SERVING;
  }
}

/** The service that a request names; undefined if it is malformed. */
function readName(message: Buffer): string | undefined {
  const reader = new WireReader(message);
  let name = "";
  try {
    while (!reader.isDone) {
      const tag = reader.tag();
      if (tag === SERVICE_FIELD) name = reader.text();
      else reader.skip(tag);
    }
    return name;
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
