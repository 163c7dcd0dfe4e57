// The options of load shedding as middleware: those of the adaptive limit, who is important, and what is never shed.

import type { AdaptiveOptions } from "../../adaptive/adaptive-options.js";
import { isPriority, type Priority } from "../../adaptive/priority.js";
import { anyFunction, passedOn, plainString, readOptions } from "../../base/shapes/code-options.js";
import { listOf, object, optional, wholeNumber, withDefault } from "../../base/shapes/shapes.js";

/** Options of `shedLoad`: those of `adaptiveConcurrency`, and these. */
export interface ShedLoadOptions extends AdaptiveOptions {
  /**
   * How important a request is, such as by its path or its user. What is not a priority counts as `normal`. Default: all
   * requests are `critical`, which have the whole limit.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the request is the framework's.
  priority?: (request: any) => Priority | undefined;
  /** Paths whose GET and HEAD requests are never shed nor counted; default {@link HEALTH_PATHS}. At most 100. */
  healthPaths?: readonly string[];
  /** The most random jitter added to Retry-After, 0 to 3,600,000; default 1,000. */
  retryAfterJitterMs?: number;
}

/** Where health checks usually ask. */
export const HEALTH_PATHS: readonly string[] = ["/health", "/healthz", "/livez", "/readyz"];

/** Options, validated and filled in. */
export interface ShedLoadSetup {
  readonly adaptive: AdaptiveOptions;
  readonly priorityOf: (request: unknown) => Priority;
  readonly isHealthCheck: (method: string, target: string) => boolean;
  readonly jitterMsMax: number;
}

const SITE = { name: "shedLoad", code: "SLUICE_OPTION_INVALID" } as const;
const PATHS_MAX = 100;

const OPTIONS = object({
  ...passedOn([
    ...["algorithm", "min", "max", "initial", "windowMs", "permitMs", "shares", "clock"],
  ] as (keyof AdaptiveOptions)[]),
  priority: optional(anyFunction),
  healthPaths: withDefault(listOf(plainString, { countMin: 0, countMax: PATHS_MAX }), HEALTH_PATHS),
  retryAfterJitterMs: withDefault(wholeNumber({ min: 0, max: 3_600_000 }), 1_000),
} satisfies Record<keyof ShedLoadOptions, unknown>);

/** Validates options and fills in defaults; `adaptiveConcurrency` reads those that are its own. */
export function toShedLoadSetup(options: ShedLoadOptions): ShedLoadSetup {
  const { priority, healthPaths, retryAfterJitterMs } = readOptions(SITE, OPTIONS, options);
  const { priority: _, healthPaths: __, retryAfterJitterMs: ___, ...adaptive } = options;
  return {
    adaptive,
    priorityOf:
      priority === undefined ? () => "critical" : (request) => toPriority(priority(request)),
    isHealthCheck: toHealthCheck(healthPaths),
    jitterMsMax: retryAfterJitterMs,
  };
}

/** Whether a request is a health check, by its path as it was sent: another spelling of the path is not one. */
export function toHealthCheck(
  paths: readonly string[],
): (method: string, target: string) => boolean {
  const known = new Set(paths);
  return (method, target) => {
    if (method !== "GET" && method !== "HEAD") return false;
    const end = target.indexOf("?");
    return known.has(end < 0 ? target : target.slice(0, end));
  };
}

function toPriority(value: unknown): Priority {
  return isPriority(value) ? value : "normal";
}
