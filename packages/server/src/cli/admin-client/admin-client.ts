// Sends requests to the admin port of a running service. A failure on the way becomes one line that says what was
// asked of which address, and what to do about it.

import { formatDuration, type Path, Reading, Spot } from "sluice/shapes";
import {
  ADMIN_HEADER,
  answers,
  type ReplyName,
  type ReplyOf,
} from "../../admin/replies/reply-schemas.js";
import { afterAlive } from "../../base/clock.js";
import { CommandError, EXIT, usageError } from "../exit.js";
import { safe } from "../text/colours.js";

/** How long a service may take for an answer. */
const ANSWER_MS_MAX = 10_000;
/** Bytes of an answer; a top list of thousands of keys is far smaller. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** The most lines that are printed of a service's error. */
const DETAIL_LINES_MAX = 60;
const DETAIL_LENGTH_MAX = 500;

/** Where the service is, and the token for it. */
export interface AdminAddress {
  /** `http://127.0.0.1:9090`. */
  readonly url: URL;
  readonly token: string | undefined;
}

/** The service knows nothing of that name: a rule, or a path. */
export class NotFoundError extends CommandError {
  /** @param message - What is not there, in the service's words. */
  constructor(message: string) {
    super(EXIT.usage, message);
  }
}

/** A change that another operator made is in the way. */
export class ConflictedError extends CommandError {
  /** @param message - What was changed meanwhile, in the service's words. */
  constructor(message: string) {
    super(EXIT.no, message);
  }
}

/** Asks the admin port of a service. Any other server at that address gets a probe, and neither verb nor token. */
export class AdminClient {
  readonly #address: AdminAddress;
  readonly #answerMsMax: number;
  #isIdentified = false;

  /** @param answerMsMax - How long an answer may take, in milliseconds. Default 10,000. */
  constructor(address: AdminAddress, answerMsMax = ANSWER_MS_MAX) {
    this.#address = address;
    this.#answerMsMax = answerMsMax;
  }

  /** The address, for people. */
  get name(): string {
    return this.#address.url.origin;
  }

  /**
   * The answer to a GET.
   *
   * @param name - The schema that the answer has to fit.
   */
  get<N extends ReplyName>(
    name: N,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ReplyOf<N>> {
    return this.#ask(name, { method: "GET", path, headers });
  }

  /** The answer to a POST of JSON. */
  post<N extends ReplyName>(name: N, path: string, body: object): Promise<ReplyOf<N>> {
    return this.#ask(name, { method: "POST", path, body: JSON.stringify(body) });
  }

  /** The answer to a request of any method. */
  send<N extends ReplyName>(name: N, request: AdminQuestion): Promise<ReplyOf<N>> {
    const { method, path, body, headers = {} } = request;
    const question = { method, path, headers };
    return this.#ask(
      name,
      body === undefined ? question : { ...question, body: JSON.stringify(body) },
    );
  }

  /**
   * The answer to a GET, piece by piece. Rejects as the other verbs do if it is not a success; the pieces reject if the
   * service stops in the middle, or sends nothing for too long.
   */
  async stream(path: string): Promise<AdminStream> {
    await this.#identify();
    const controller = new AbortController();
    const question = { method: "GET", path } as const;
    let stop = afterAlive(this.#answerMsMax, () => controller.abort());
    try {
      const response = await this.#send(question, this.#headers(question), controller.signal);
      this.#mustBeAdmin(response);
      if (!response.ok) this.#read(response, await readBody(response));
      const renew = () => {
        stop();
        stop = afterAlive(this.#answerMsMax, () => controller.abort());
      };
      const chunks = this.#chunks(response, {
        renew,
        end: () => stop(),
        signal: controller.signal,
      });
      return { headers: response.headers, chunks };
    } catch (error) {
      stop();
      throw this.#toFailure(error, controller.signal.aborted);
    }
  }

  async *#chunks(
    response: Response,
    { renew, end, signal }: { renew(): void; end(): void; signal: AbortSignal },
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of response.body ?? []) {
        renew();
        yield chunk;
      }
    } catch (error) {
      throw this.#toFailure(error, signal.aborted);
    } finally {
      end();
    }
  }

  async #ask<N extends ReplyName>(name: N, question: Question): Promise<ReplyOf<N>> {
    await this.#identify();
    const { response, text } = await this.#fetch(question, this.#headers(question));
    this.#mustBeAdmin(response);
    const value = this.#read(response, text);
    const reading = new AnswerReading();
    answers[name].read(value, new Spot(reading));
    if (reading.problemCount === 0) return value as ReplyOf<N>;
    throw this.#toStranger(`an answer to ${question.path} that ${reading.first}`);
  }

  /** Health needs no token, and asking for it does nothing. */
  async #identify(): Promise<void> {
    if (this.#isIdentified) return;
    const { response } = await this.#fetch({ method: "GET", path: "/livez" }, ACCEPT);
    this.#mustBeAdmin(response);
    this.#isIdentified = true;
  }

  #mustBeAdmin({ status, headers }: Response): void {
    if (headers.has(ADMIN_HEADER)) return;
    const server = headers.get("server");
    const parts = [`HTTP ${status}`, headers.get("content-type") ?? "no content type"];
    if (server !== null) parts.push(`Server: ${server}`);
    throw this.#toStranger(safe(parts.join(", "), DETAIL_LENGTH_MAX));
  }

  #toStranger(found: string): CommandError {
    const hint = "--admin or SLUICE_ADMIN names another address";
    const line = `${this.name} is not the admin port of Sluice: found ${found} (${hint})`;
    return new CommandError(EXIT.unreachable, line);
  }

  async #fetch(
    question: Question,
    headers: Record<string, string>,
  ): Promise<{ readonly response: Response; readonly text: string }> {
    const controller = new AbortController();
    // `fetch` never settles if a server closes each connection as it is accepted, and nothing else runs here.
    const stop = afterAlive(this.#answerMsMax, () => controller.abort());
    try {
      const response = await this.#send(question, headers, controller.signal);
      return { response, text: await readBody(response) };
    } catch (error) {
      throw this.#toFailure(error, controller.signal.aborted);
    } finally {
      stop();
    }
  }

  #send(
    { method, path, body }: Question,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Response> {
    return fetch(new URL(path, this.#address.url), {
      method,
      headers,
      // Not followed: the operator has not named the address that it leads to.
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }

  #headers({ body, headers }: Question): Record<string, string> {
    const { token } = this.#address;
    return {
      ...ACCEPT,
      ...headers,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  #read({ ok, status }: Response, text: string): unknown {
    const value = parseJson(text);
    if (ok && value !== undefined) return value;
    if (status === 401) throw new CommandError(EXIT.unreachable, this.#sayToken());
    const said = toDetail(value);
    if (said !== undefined && isInvalid(value)) throw new CommandError(EXIT.no, said);
    if (status === 404 && said !== undefined) throw new NotFoundError(said);
    if (status === 403 && said !== undefined && isOfRole(value))
      throw new CommandError(EXIT.unreachable, `${said}; use a token with that role`);
    if (status === 409 && said !== undefined) throw new ConflictedError(said);
    if (status >= 400 && status < 500 && said !== undefined) throw usageError(said);
    const seen = said ?? "an unexpected response";
    throw new CommandError(EXIT.unreachable, `${this.name} answered ${status}: ${seen}`);
  }

  #sayToken(): string {
    const wants = this.#address.token === undefined ? "needs a token" : "rejected the token";
    const source = "the first start prints one once, and `sluice tokens create` makes more";
    return `${this.name} ${wants}: pass --token, or set SLUICE_ADMIN_TOKEN (${source})`;
  }

  #toFailure(error: unknown, isLate: boolean): unknown {
    if (error instanceof CommandError) return error;
    const why = isLate ? `no answer within ${formatDuration(this.#answerMsMax)}` : reasonOf(error);
    const hint = "is the service running there? --admin names another address";
    return new CommandError(EXIT.unreachable, `could not reach ${this.name}: ${why} (${hint})`);
  }
}

/** An answer that comes piece by piece. */
export interface AdminStream {
  readonly headers: Headers;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A request to the admin port. */
export interface AdminQuestion {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** Besides those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Question {
  readonly method: AdminQuestion["method"];
  readonly path: string;
  readonly body?: string;
  /** Besides those that every question has. */
  readonly headers?: Readonly<Record<string, string>>;
}

const ACCEPT = { accept: "application/json" };

/** Keeps the first problem of an answer: `does not fit at version: must be …`. */
class AnswerReading extends Reading {
  problemCount = 0;
  first = "";

  report(path: Path, problem: string): void {
    this.problemCount += 1;
    if (this.problemCount > 1) return;
    const where = path.length === 0 ? "as a whole" : `at ${path.join(".")}`;
    this.first = safe(`does not fit ${where}: ${problem}`, DETAIL_LENGTH_MAX);
  }
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the reply exceeds ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What a problem body says, line by line. */
function toDetail(value: unknown): string | undefined {
  const { detail, title, message } = (value ?? {}) as Record<string, unknown>;
  const said = [detail, title, message].find((text) => typeof text === "string");
  if (said === undefined) return undefined;
  const lines = (said as string).split("\n", DETAIL_LINES_MAX);
  return lines.map((line) => safe(line, DETAIL_LENGTH_MAX)).join("\n");
}

/** Whether the files of the service are invalid, as opposed to a failure of the service. */
function isInvalid(value: unknown): boolean {
  const { code } = (value ?? {}) as { code?: unknown };
  return typeof code === "string" && /^SLUICE_(?:RULES|CONFIG)_(?:INVALID|UNREADABLE)$/.test(code);
}

/** Whether the token is known, and its role does not suffice. */
function isOfRole(value: unknown): boolean {
  return (value as { code?: unknown } | undefined)?.code === "SLUICE_ROLE_INSUFFICIENT";
}

const UNTRUSTED = "its TLS certificate is not trusted (NODE_EXTRA_CA_CERTS names a file of CAs)";
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection was cut",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "the host's name was not found",
  UND_ERR_SOCKET: "the connection was cut",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "the server there speaks plain HTTP, not TLS: write http:// instead of https://",
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    "the server there speaks plain HTTP, not TLS: write http:// instead of https://",
  HPE_INVALID_CONSTANT: "the server there does not speak HTTP; if it speaks TLS, write https://",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: "its TLS certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its TLS certificate is for another name",
};

/** Why a request failed: `fetch` hides it in a cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const { code, message } = (cause ?? error) as { code?: string; message?: string };
  return (
    (code === undefined ? undefined : REASONS[code]) ??
    (code?.startsWith("ERR_SSL_") ? `TLS failed (${code})` : undefined) ??
    safe(message ?? String(error), DETAIL_LENGTH_MAX)
  );
}
