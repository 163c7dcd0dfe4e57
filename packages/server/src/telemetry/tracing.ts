// Spans of OpenTelemetry, where the program that Sluice runs in has it: `@opentelemetry/api` can be loaded
// and an SDK has registered itself. Otherwise no spans are created.

import type { Tracer, TracerProvider } from "@opentelemetry/api";
import type { PolicyDecision } from "sluice/rules";
import { toOutcome } from "./log/decision-log.js";
import type { ListenerName } from "./reported.js";

/** The part of `@opentelemetry/api` that is used. */
export type TraceApi = Pick<typeof import("@opentelemetry/api"), "trace">;

/** Creates the span of a decision that has just been made. */
export type TraceDecision = (listener: ListenerName, decision: PolicyDecision, ms: number) => void;

/** The name of the tracer, and of each span. */
export const TRACER_NAME = "sluice";
export const SPAN_NAME = "sluice.decide";

/**
 * Resolves to a function that creates spans, or to undefined if there is no SDK. Never rejects.
 *
 * @param load - Loads the API, and rejects if it is not installed: {@link loadTraceApi}, or a substitute in tests.
 * @param wallMs - The wall clock, in milliseconds since 1970.
 */
export async function loadTracing(
  load: () => Promise<TraceApi>,
  wallMs: () => number,
): Promise<TraceDecision | undefined> {
  const tracer = await load()
    .then(({ trace }) => toTracer(trace.getTracerProvider()))
    .catch(() => undefined);
  if (tracer === undefined) return undefined;
  return (listener, decision, ms) => {
    const endMs = wallMs();
    const span = tracer.startSpan(SPAN_NAME, {
      startTime: endMs - ms,
      attributes: toAttributes(listener, decision),
    });
    span.end(endMs);
  };
}

/** Loads the API by its name. */
export function loadTraceApi(): Promise<TraceApi> {
  return import("@opentelemetry/api");
}

/** The SDK's tracer: without one the API answers with a proxy that has nothing behind it. */
function toTracer(provider: TracerProvider): Tracer | undefined {
  const proxy = provider as Partial<{ getDelegateTracer(name: string): Tracer | undefined }>;
  if (typeof proxy.getDelegateTracer !== "function") return provider.getTracer(TRACER_NAME);
  return proxy.getDelegateTracer(TRACER_NAME);
}

/** What a span says: as in the metrics never a key, an address or a path. */
function toAttributes(
  listener: ListenerName,
  decision: PolicyDecision,
): Record<string, string | number | boolean> {
  return {
    "sluice.listener": listener,
    "sluice.allowed": decision.allowed,
    "sluice.outcome": toOutcome(decision),
    "sluice.source": decision.source,
    "sluice.rules_version": decision.version,
    ...(decision.rule === undefined ? {} : { "sluice.rule": decision.rule }),
    ...(decision.reason === undefined ? {} : { "sluice.reason": decision.reason }),
    ...(decision.delayMs > 0 ? { "sluice.delay_ms": decision.delayMs } : {}),
  };
}
