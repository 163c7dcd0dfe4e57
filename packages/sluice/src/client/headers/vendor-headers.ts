// The headers that APIs had before the RateLimit fields: X-RateLimit-* with its many meanings of a reset, GitHub's
// resources, Discord's buckets, and those of language models, which count requests and tokens apart.

import type { HeaderSource } from "./header-source.js";
import { parseDecimal, parseResetMs, parseWhole } from "./header-times.js";
import type { QuotaReport } from "./quota-report.js";

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset`, of GitHub, Discord, express-rate-limit and most others. */
export function readXRateLimit(headers: HeaderSource, wallMs: number): readonly QuotaReport[] {
  // Reddit writes it with a fraction: `598.0`.
  const remaining = parseDecimal(headers.get("x-ratelimit-remaining") ?? "");
  if (remaining === undefined) return [];
  // Discord: seconds from now with fractions, beside the time of the reset.
  const after = headers.get("x-ratelimit-reset-after");
  const reset = after ?? headers.get("x-ratelimit-reset") ?? "";
  const name = headers.get("x-ratelimit-bucket") ?? headers.get("x-ratelimit-resource") ?? "";
  return [
    {
      name: name.slice(0, NAME_LENGTH_MAX),
      limit: parseWhole(headers.get("x-ratelimit-limit") ?? ""),
      remaining: Math.floor(remaining),
      resetMs: parseResetMs(reset, headers, wallMs),
      isOfRequests: true,
    },
  ];
}

/** `x-rate-limit-*`, as X and Okta spell it. */
export function readXRateLimitSpelled(
  headers: HeaderSource,
  wallMs: number,
): readonly QuotaReport[] {
  return readThree(headers, wallMs, (part) => `x-rate-limit-${part}`, "", true);
}

/** `x-ratelimit-remaining-requests` and `-tokens`, of OpenAI and those who imitate it. */
export function readOpenAi(headers: HeaderSource, wallMs: number): readonly QuotaReport[] {
  return ["requests", "tokens"].flatMap((unit) =>
    readThree(headers, wallMs, (part) => `x-ratelimit-${part}-${unit}`, unit, unit === "requests"),
  );
}

/** `anthropic-ratelimit-requests-remaining`, and the same for tokens, those of the input and those of the output. */
export function readAnthropic(headers: HeaderSource, wallMs: number): readonly QuotaReport[] {
  return ["requests", "tokens", "input-tokens", "output-tokens"].flatMap((unit) =>
    readThree(
      headers,
      wallMs,
      (part) => `anthropic-ratelimit-${unit}-${part}`,
      unit,
      unit === "requests",
    ),
  );
}

/** Whether a refusal is about all requests of the caller, and not about this route: Discord says so. */
export function isGlobalRefusal(headers: HeaderSource): boolean {
  return (
    headers.get("x-ratelimit-global") === "true" || headers.get("x-ratelimit-scope") === "global"
  );
}

const NAME_LENGTH_MAX = 128;

function readThree(
  headers: HeaderSource,
  wallMs: number,
  nameOf: (part: "limit" | "remaining" | "reset") => string,
  name: string,
  isOfRequests: boolean,
): readonly QuotaReport[] {
  const remaining = parseWhole(headers.get(nameOf("remaining")) ?? "");
  if (remaining === undefined) return [];
  const limit = parseWhole(headers.get(nameOf("limit")) ?? "");
  const resetMs = parseResetMs(headers.get(nameOf("reset")) ?? "", headers, wallMs);
  return [{ name, limit, remaining, resetMs, isOfRequests }];
}
