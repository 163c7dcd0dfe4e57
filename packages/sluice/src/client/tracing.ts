// A span for each attempt, where the application has OpenTelemetry. The SDK registers itself under a symbol that all
// versions 1 of `@opentelemetry/api` share, so nothing is imported: bundles for browsers stay free of the package, and
// an application without it pays for one lookup.

import { notify } from "../base/maybe-promise.js";

/** What is used of a span. */
interface Span {
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

interface Tracer {
  startSpan(name: string, options: object): Span;
}

interface TracerProvider {
  getTracer(name: string): Tracer;
}

const API = Symbol.for("opentelemetry.js.api.1");
/** `SpanKind.CLIENT` and `SpanStatusCode.ERROR` of the API. */
const KIND_CLIENT = 2;
const STATUS_ERROR = 2;
const ERROR_FROM = 400;

/**
 * Starts the span of an attempt, which is counted from 1; undefined if no SDK is registered, or the SDK throws: a request
 * must not fail because it could not be traced. As in the events, a span never has a path, a key or a header.
 */
export function startSpan(
  method: string,
  origin: string,
  attempt: number,
  waitMs: number,
): Span | undefined {
  const registered = (globalThis as { [API]?: { trace?: TracerProvider } })[API]?.trace;
  if (registered === undefined) return undefined;
  try {
    return registered.getTracer("sluice").startSpan(method, {
      kind: KIND_CLIENT,
      attributes: {
        "http.request.method": method,
        ...toServer(origin),
        ...(attempt > 1 ? { "http.request.resend_count": attempt - 1 } : {}),
        ...(waitMs > 0 ? { "sluice.client.wait_ms": waitMs } : {}),
      },
    });
  } catch {
    return undefined;
  }
}

/** Host and port of an origin. `data:` URLs, and pools of undici that don't say where they connect to, have neither. */
function toServer(origin: string): object {
  if (!origin.includes("://")) return {};
  const { hostname, port } = new URL(origin);
  return { "server.address": hostname, ...(port === "" ? {} : { "server.port": Number(port) }) };
}

/** Ends it with what came of the attempt: a status, or the error. What the SDK throws is ignored. */
export function endSpan(span: Span | undefined, result: number | unknown): void {
  if (span !== undefined) notify(() => describeAndEnd(span, result));
}

function describeAndEnd(span: Span, result: number | unknown): void {
  if (typeof result === "number") {
    span.setAttribute("http.response.status_code", result);
    if (result >= ERROR_FROM) span.setStatus({ code: STATUS_ERROR });
  } else {
    const name = result instanceof Error ? result.name : "Error";
    span.setAttribute("error.type", name);
    span.setStatus({ code: STATUS_ERROR, message: name });
  }
  span.end();
}
