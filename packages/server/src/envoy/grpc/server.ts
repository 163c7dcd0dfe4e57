// A server of gRPC for calls with one message, straight on HTTP/2. The usual library takes more processor time for
// a call than the decision in it does (`service/envoy`), and answers what is malformed as if it were our fault.

import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { Server as NetServer } from "node:net";
import { every } from "../../base/clock.js";
import type { ListenAddress } from "../../base/http/listen.js";
import { listenAt } from "../../base/http/listen.js";
import { type TlsWatchOptions, WatchedTls } from "../../base/tls/tls-files.js";
import type { EnvoyTlsConfig } from "../../config/config.js";
import { CallBody, FrameError, HeldBytes } from "./message.js";
import { fail, refuse, STATUS } from "./replies.js";

/** Answers a call, immediately or later, with the functions of replies.ts. */
export type GrpcMethod = (stream: ServerHttp2Stream, message: Buffer) => void;

/** The most concurrent calls on one connection. */
const STREAMS_MAX = 1_000;
/** The most connections at a time; further ones are closed. */
const CONNECTIONS_MAX = 10_000;
/** How long a client may take over each step of a call, by default. */
const SLOW_CALL_MS = 10_000;
/** How long a TLS handshake may take; Node's own bound is two minutes. */
const HANDSHAKE_MS_MAX = 10_000;
/** HTTP/2's code of an end without an error by either side. */
const CANCEL = 8;

/** What a server may be given. */
export interface GrpcOptions {
  /**
   * A call is reset if its message has not come, or its answer was not taken, after one to two of these; a connection on
   * which nothing of HTTP/2 has come is closed. Default 10,000.
   */
  readonly slowCallMs?: number | undefined;
  /** Default: in clear. */
  readonly tls?: EnvoyTlsConfig | undefined;
  /** The files of `tls` were read again; with an error those from before stay. */
  readonly onTlsReload?: TlsWatchOptions["onReload"];
}

/** A server of some methods. */
export class GrpcServer {
  readonly #server: Http2Server | Http2SecureServer;
  readonly #tls: WatchedTls | undefined;
  readonly #methods: ReadonlyMap<string, GrpcMethod>;
  /** Those that are open, and what the calls on each hold. */
  readonly #sessions = new Map<ServerHttp2Session, HeldBytes>();
  /** Those whose client has said nothing yet, by the period in which they began. */
  readonly #silent = new Map<ServerHttp2Session, number>();
  /** Calls whose message is not there yet, by the period in which they began. */
  readonly #waiting = new Map<ServerHttp2Stream, number>();
  /** Calls whose message is there, by the latest period in which they were not answered yet. */
  readonly #answering = new Map<ServerHttp2Stream, number>();
  #period = 0;
  readonly #stopSweeping: () => void;

  /**
   * @param methods - By path: `/grpc.health.v1.Health/Check`.
   * @throws ServerError if a file of `tls` can't be used.
   */
  constructor(
    methods: ReadonlyMap<string, GrpcMethod>,
    { slowCallMs = SLOW_CALL_MS, tls, onTlsReload }: GrpcOptions = {},
  ) {
    this.#methods = methods;
    this.#tls = tls === undefined ? undefined : watchTls(tls, onTlsReload);
    this.#server = this.#createServer(tls?.clientCaFile !== undefined);
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on("session", (session) => this.#keep(session));
    this.#server.on("stream", (stream, headers) => this.#take(stream, headers));
    // An error of one connection concerns only its client.
    this.#server.on("sessionError", () => {});
    this.#stopSweeping = every(slowCallMs, () => this.#sweep());
  }

  #createServer(asksForCertificates: boolean): Http2Server | Http2SecureServer {
    const settings = { maxConcurrentStreams: STREAMS_MAX };
    if (this.#tls === undefined) return createServer({ settings });
    const server = createSecureServer({
      settings,
      handshakeTimeout: HANDSHAKE_MS_MAX,
      requestCert: asksForCertificates,
      rejectUnauthorized: asksForCertificates,
      ...this.#tls.options,
    });
    // A client that breaks off its handshake, or has no certificate, is not an error of the server.
    server.on("tlsClientError", (_, socket) => socket.destroy());
    this.#tls.onChange = (options) => server.setSecureContext(options);
    return server;
  }

  /** Reads the files of TLS again now. */
  reload(): void {
    this.#tls?.reload();
  }

  /** Listens, and returns where: `127.0.0.1:8081`. */
  async listen(listen: ListenAddress): Promise<string> {
    try {
      return await listenAt(this.#server, listen, "envoy");
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** Takes no more connections; those that are open go on as before. */
  stopListening(): void {
    // Not the server's own `close`, which newer versions of Node end sessions with.
    if (this.#server.listening) NetServer.prototype.close.call(this.#server);
  }

  /** Takes no more connections and calls, and resolves when the last call has ended. */
  async drain(): Promise<void> {
    const closed = [...this.#sessions.keys()].map((session) => once(session, "close"));
    this.stopListening();
    for (const session of this.#sessions.keys()) session.close();
    await Promise.all(closed);
    this.#release();
  }

  /** Ends everything immediately. */
  close(): void {
    this.#release();
    this.stopListening();
    for (const session of this.#sessions.keys()) session.destroy();
  }

  #release(): void {
    this.#stopSweeping();
    this.#tls?.stop();
  }

  #keep(session: ServerHttp2Session): void {
    this.#sessions.set(session, new HeldBytes());
    this.#silent.set(session, this.#period);
    // A client begins with its settings.
    session.once("remoteSettings", () => this.#silent.delete(session));
    session.on("close", () => {
      this.#sessions.delete(session);
      this.#silent.delete(session);
    });
  }

  #take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on("error", ignore);
    this.#waiting.set(stream, this.#period);
    const body = new CallBody(this.#heldOn(stream.session));
    // A call that is reset has no end.
    stream.on("close", () => {
      this.#waiting.delete(stream);
      this.#answering.delete(stream);
      body.drop();
    });
    const method = this.#methodOf(stream, headers);
    // What is not read would keep the stream open.
    if (method === undefined) stream.resume();
    else this.#receive(stream, body, method, headers["grpc-encoding"]);
  }

  #heldOn(session: Http2Session | undefined): HeldBytes {
    return this.#sessions.get(session as ServerHttp2Session) ?? new HeldBytes();
  }

  #receive(stream: ServerHttp2Stream, body: CallBody, method: GrpcMethod, encoding: unknown): void {
    stream.on("data", (piece: Buffer) => {
      const why = body.add(piece);
      // A client that keeps sending is reset like a slow one.
      if (why !== undefined) fail(stream, STATUS.resourceExhausted, why);
    });
    stream.on("end", () => {
      this.#waiting.delete(stream);
      this.#answering.set(stream, this.#period);
      if (!body.isDropped) answer(stream, method, body, encoding);
    });
  }

  /** The method that a call is for; undefined if it was answered already, since there is none. */
  #methodOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): GrpcMethod | undefined {
    const isGrpc = headers["content-type"]?.startsWith("application/grpc") === true;
    if (!isGrpc || headers[":method"] !== "POST") {
      refuse(stream, isGrpc ? 405 : 415);
      return undefined;
    }
    const method = this.#methods.get(headers[":path"] as string);
    if (method === undefined) fail(stream, STATUS.unimplemented, "there is no such method");
    return method;
  }

  /** Calls whose message is not there yet. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  #sweep(): void {
    const period = ++this.#period;
    for (const [stream, began] of this.#waiting) if (period - began > 1) stream.close(CANCEL);
    for (const [stream, since] of this.#answering) {
      // Answers of methods that take long, or of which more follows, are not late.
      if (!stream.writableEnded) this.#answering.set(stream, period);
      else if (period - since > 1) stream.close(CANCEL);
    }
    for (const [session, began] of this.#silent) if (period - began > 1) session.destroy();
  }
}

function watchTls(tls: EnvoyTlsConfig, onReload: TlsWatchOptions["onReload"]): WatchedTls {
  const { certFile, keyFile, clientCaFile: caFile } = tls;
  return new WatchedTls({ certFile, keyFile, caFile }, { onReload });
}

function answer(
  stream: ServerHttp2Stream,
  method: GrpcMethod,
  body: CallBody,
  encoding: unknown,
): void {
  try {
    method(stream, body.takeMessage(encoding));
  } catch (error) {
    if (error instanceof FrameError) fail(stream, error.status, error.message);
    else fail(stream, STATUS.internal, "the call could not be answered");
  }
}

function ignore(): void {}
