// One POST to a receiver, which may be slow, broken or hostile: it ends within its time whatever comes back, follows no
// redirect, reads a bounded body and keeps nothing of it. It uses its own connection, so no other delivery waits for it.

import { type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { formatDuration } from "sluice/shapes";
import { after, readMs } from "../../base/clock.js";

/** Where to, and how long it may take. */
export interface PostTarget {
  readonly url: string;
  /** From connecting to the end of the response. */
  readonly timeoutMs: number;
  /** The authorities that are trusted, as PEM; undefined: those that Node.js includes. */
  readonly ca: string | undefined;
}

/** What is sent. */
export interface PostMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request early. */
  readonly signal: AbortSignal;
}

/** How it went. */
export interface PostOutcome {
  readonly isDelivered: boolean;
  readonly tookMs: number;
  /** Undefined if no response came. */
  readonly status: number | undefined;
  /** Why it is not delivered, in words without a URL or secret; undefined if it is. */
  readonly error: string | undefined;
  /** What a `Retry-After` in seconds asked for. */
  readonly retryAfterMs: number | undefined;
}

/** What is read of a response before the connection is closed. */
const RESPONSE_BYTES_MAX = 16_384;

/** Sends a message. Never rejects. */
export function postWebhook(target: PostTarget, message: PostMessage): Promise<PostOutcome> {
  const startedMs = readMs();
  return new Promise((resolve) => {
    let response: IncomingMessage | undefined;
    const sent = toRequest(target, message);
    const end = (error?: string) => {
      cancelTimer();
      message.signal.removeEventListener("abort", abort);
      sent.destroy();
      resolve({ ...toOutcome(response, error), tookMs: Math.round(readMs() - startedMs) });
    };
    const abort = () => end("the node was stopped before the response came");
    const cancelTimer = after(target.timeoutMs, () =>
      end(`no response within ${formatDuration(target.timeoutMs)}`),
    );
    message.signal.addEventListener("abort", abort);
    // Not once: destroying a connection reports errors too.
    sent.on("error", (error) => end(describe(error)));
    sent.once("close", () => end("the connection was closed before the response came"));
    sent.once("response", (received) => {
      response = received;
      drain(received, () => end());
    });
    sent.end(message.body);
    if (message.signal.aborted) abort();
  });
}

function toRequest({ url, ca }: PostTarget, { headers, body }: PostMessage): ClientRequest {
  const options = {
    method: "POST",
    agent: false as const,
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      connection: "close",
      ...headers,
    },
  };
  if (!url.startsWith("https:")) return requestPlain(url, options);
  return requestSecure(url, ca === undefined ? options : { ...options, ca });
}

/** The status says it all; the body is read so that the receiver can end in peace, up to a bound. */
function drain(response: IncomingMessage, onEnd: () => void): void {
  let bytes = 0;
  response.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > RESPONSE_BYTES_MAX) onEnd();
  });
  response.once("end", onEnd);
  response.once("error", onEnd);
  response.once("close", onEnd);
}

function toOutcome(
  response: IncomingMessage | undefined,
  error: string | undefined,
): Omit<PostOutcome, "tookMs"> {
  const status = response?.statusCode;
  if (response === undefined || status === undefined) {
    return { isDelivered: false, status: undefined, error, retryAfterMs: undefined };
  }
  const isDelivered = status >= 200 && status < 300;
  const retryAfterMs = toMs(response.headers["retry-after"]);
  return { isDelivered, status, error: isDelivered ? undefined : toProblem(status), retryAfterMs };
}

function toProblem(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return `the receiver answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`;
}

function toMs(retryAfter: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(retryAfter ?? "") ? Number(retryAfter) * 1_000 : undefined;
}

/** Only the code: messages may quote what was sent or received. */
function describe(error: NodeJS.ErrnoException): string {
  return `the request failed (${error.code ?? "unknown error"})`;
}
