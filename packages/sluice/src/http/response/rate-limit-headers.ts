// The rate limit headers of a response. The forms of draft-8 and later list every limit by name; older
// ones, and X-RateLimit-*, have the numbers of the limit that binds. Rules that are shadows or hide
// themselves are in none, and a limit whose state is not known shows only what it promises. Durable rules that say so
// warn in a header of their own when a set share of their quota is used.

import { type Clock, wallMsOf } from "../../base/clock.js";
import { bindsMore } from "../../base/decision.js";
import type { DecidedRuleCharge } from "../../rules/policy/charges/decided-charge.js";
import type { KindTexts } from "../../rules/policy/compile/rule-limits.js";
import { waitMsOf } from "../../rules/policy/held-charges/hold-times.js";
import type { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import {
  INTEGER_MAX,
  labelOf,
  namedLinesOf,
  nameOf,
  type ShownRule,
  textsOf,
} from "./limit-description.js";
import type { PartitionKey } from "./partition-key.js";
import type { Retry } from "./retry-after.js";

/** The forms of the RateLimit headers. `draft-8` and `draft-11` are written alike. */
export const HEADER_FORMS = ["draft-11", "draft-8", "draft-7", "draft-6", "none"] as const;

/** One of {@link HEADER_FORMS}. */
export type HeaderForm = (typeof HEADER_FORMS)[number];

/** What X-RateLimit-Reset counts: seconds since 1970, or from now. */
export type LegacyReset = "epoch" | "delta";

/** How headers are written. */
interface HeaderOptions {
  readonly clock: Clock;
  readonly headers: HeaderForm;
  readonly legacyReset: LegacyReset | undefined;
  readonly partitionKey: PartitionKey | undefined;
}

/** The wall clock and the clock of the limits count as the same if they differ by no more than this. */
const SAME_TIME_MS_MAX = 50;

/** The limit whose numbers are shown. */
type Bound = Pick<DecidedRuleCharge, "verdict" | "nowMs" | "ruleLimit" | "counter">;
/** One that a request passed. */
type Answered = Bound & { readonly rule: ShownRule; readonly key: string };

/** Writes the headers of responses. */
export class HeaderWriter {
  readonly #options: HeaderOptions;
  readonly #isNamed: boolean;
  /** The forms of most servers: by name and X-RateLimit-*, without partition keys. */
  readonly #isUsual: boolean;
  #readAtMs = -1;
  #wallMs = 0;
  // Parts of lines that most responses of a second have in common, each as one string.
  #middle = "";
  #middleOf: KindTexts | undefined = undefined;
  #middleSeconds = -1;
  #end = "";
  #endSeconds = -1;

  constructor(options: HeaderOptions) {
    const { headers, legacyReset, partitionKey } = options;
    this.#options = options;
    this.#isNamed = headers === "draft-11" || headers === "draft-8";
    this.#isUsual = this.#isNamed && legacyReset !== undefined && partitionKey === undefined;
  }

  /** The header lines, each with its line break; empty if no matching rule is shown. `retry` is that of a refusal. */
  write(decision: PolicyDecision, retry: Retry | undefined): string {
    let policies = "";
    let states = "";
    let warnings = "";
    let bound: DecidedRuleCharge | undefined;
    for (const result of decision.charges) {
      if (!result.rule.isShown) continue;
      const { kind } = result.ruleLimit;
      const texts = textsOf(kind);
      const label = this.#isNamed ? labelOf(result) : "";
      const pk = this.#options.partitionKey?.parameterOf(result) ?? "";
      if (policies !== "") policies += ", ";
      policies += this.#isNamed ? label + texts.quota + pk : texts.policy;
      if (!isKnown(result)) continue;
      if (kind.warnAt !== undefined) warnings = withWarning(warnings, result);
      if (this.#isNamed) {
        if (states !== "") states += ", ";
        states += `${label}r=${toState(texts, result, retry)}${pk}`;
      }
      if (bound !== undefined && !bindsMore(result.verdict, bound.verdict)) continue;
      bound = result;
    }
    if (policies === "") return "";
    let lines = this.#options.headers === "none" ? "" : `RateLimit-Policy: ${policies}\r\n`;
    if (states !== "") lines += `RateLimit: ${states}\r\n`;
    if (warnings !== "") lines += `Sluice-Quota-Warning: ${warnings}\r\n`;
    return bound === undefined ? lines : lines + this.#toNumbers(bound, retry);
  }

  /** The same for a request under one limit that is shown and known, and has let it pass or refuses without jitter. */
  writeOne(answer: Answered): string {
    const { verdict, ruleLimit } = answer;
    const moreMs = this.#isUsual && verdict.allowed ? moreMsOf(answer) : undefined;
    if (moreMs === undefined || ruleLimit.kind.warnAt !== undefined) return this.#writeAny(answer);
    // Of few parts, since each one is made again and copied for every response (benches http/node, http/fastify).
    const remaining = `${clip(verdict.remaining)}`;
    const middle = this.#middleFor(textsOf(ruleLimit.kind), toSeconds(moreMs));
    const end = this.#endFor(this.#resetOf(answer, verdict.resetMs));
    return namedLinesOf(answer) + remaining + middle + remaining + end;
  }

  /** From `;t=`, behind what is left, to the line that repeats it. */
  #middleFor(texts: KindTexts, seconds: number): string {
    if (texts !== this.#middleOf || seconds !== this.#middleSeconds) {
      const within = Math.min(seconds, texts.windowSeconds);
      this.#middle = [";t=", within, "\r\n", texts.legacyLines].join("");
      this.#middleOf = texts;
      this.#middleSeconds = seconds;
    }
    return this.#middle;
  }

  /** The end of a line, and X-RateLimit-Reset. */
  #endFor(seconds: number): string {
    if (seconds !== this.#endSeconds) {
      this.#end = ["\r\nX-RateLimit-Reset: ", seconds, "\r\n"].join("");
      this.#endSeconds = seconds;
    }
    return this.#end;
  }

  #writeAny(answer: Answered): string {
    const texts = textsOf(answer.ruleLimit.kind);
    const pk = this.#options.partitionKey?.parameterOf(answer) ?? "";
    let lines = "";
    if (this.#isNamed) {
      const state = toState(texts, answer, undefined);
      if (pk === "") lines = `${namedLinesOf(answer)}${state}\r\n`;
      else {
        const label = labelOf(answer);
        const policy = `${label}${texts.quota}${pk}`;
        lines = `RateLimit-Policy: ${policy}\r\nRateLimit: ${label}r=${state}${pk}\r\n`;
      }
    } else if (this.#options.headers !== "none") {
      lines = `RateLimit-Policy: ${texts.policy}\r\n`;
    }
    const warning = answer.ruleLimit.kind.warnAt === undefined ? "" : withWarning("", answer);
    if (warning !== "") lines += `Sluice-Quota-Warning: ${warning}\r\n`;
    return lines + this.#toNumbers(answer, undefined);
  }

  /** The forms that show one limit's numbers. */
  #toNumbers(bound: Bound, retry: Retry | undefined): string {
    const { verdict } = bound;
    const { limit, legacyLines } = textsOf(bound.ruleLimit.kind);
    const { headers, legacyReset } = this.#options;
    const remaining = clip(verdict.remaining);
    const waitMs = shownMsOf(bound, retry);
    const seconds = waitMs === undefined ? undefined : toSeconds(waitMs);
    let lines = "";
    if (headers === "draft-7") {
      const reset = seconds === undefined ? "" : `, reset=${seconds}`;
      lines = `RateLimit: limit=${limit}, remaining=${remaining}${reset}\r\n`;
    } else if (headers === "draft-6") {
      lines = `RateLimit-Limit: ${limit}\r\nRateLimit-Remaining: ${remaining}\r\n`;
      if (seconds !== undefined) lines += `RateLimit-Reset: ${seconds}\r\n`;
    }
    if (legacyReset === undefined) return lines;
    lines += `${legacyLines}${remaining}\r\n`;
    if (waitMs === undefined) return lines;
    return `${lines}X-RateLimit-Reset: ${this.#resetOf(bound, waitMs)}\r\n`;
  }

  /** In seconds since 1970 or from now, as the option says. */
  #resetOf(bound: Bound, waitMs: number): number {
    const isFromNow = this.#options.legacyReset === "delta";
    // Added before rounding, so that a window that ends on a whole second names that second.
    return toSeconds(isFromNow ? waitMs : this.#wallMsOf(bound) + waitMs);
  }

  /** The wall clock at the time of the decision; read once for all requests of a millisecond. */
  #wallMsOf({ nowMs, ruleLimit }: Bound): number {
    // A quota is decided by the wall clock itself.
    if (ruleLimit.kind.isQuota) return nowMs;
    if (nowMs !== this.#readAtMs) {
      const wallMs = wallMsOf(this.#options.clock);
      // Windows end on whole seconds of the limit's clock, not of the wall clock.
      this.#wallMs = Math.abs(wallMs - nowMs) <= SAME_TIME_MS_MAX ? nowMs : wallMs;
      this.#readAtMs = nowMs;
    }
    return this.#wallMs;
  }
}

/** While the store fails, only the fallback `local` counts, so only it knows what is left. */
function isKnown({ isKnown, verdict, counter }: DecidedRuleCharge): boolean {
  return isKnown && (verdict.source !== "fallback" || counter.onStoreFailure === "local");
}

/** The warnings, and that of a durable quota of which so much is used: its share, rounded down to hundredths. */
function withWarning(warnings: string, bound: Answered): string {
  const { verdict, ruleLimit } = bound;
  const used = Math.max(0, 1 - verdict.remaining / verdict.limit);
  // A difference such as 1 - 0.2 may fall short of the share by its last digit.
  if (used + 1e-9 < (ruleLimit.kind.warnAt ?? 1)) return warnings;
  const warning = `"${nameOf(bound)}";used=${Math.floor(used * 100 + 1e-7) / 100}`;
  return warnings === "" ? warning : `${warnings}, ${warning}`;
}

/**
 * The state behind a limit's name. The draft's `t` says when more quota is available, within the window that the policy
 * names. A refusal has the time of its Retry-After. Only a sliding window counter may need more than its window for a
 * unit: then only Retry-After says so.
 */
function toState(texts: KindTexts, bound: Bound, retry: Retry | undefined): string {
  const { verdict, ruleLimit } = bound;
  const remaining = clip(verdict.remaining);
  const waitMs = verdict.allowed ? moreMsOf(bound) : shownMsOf(bound, retry);
  if (waitMs === undefined) return `${remaining}`;
  const isWithin = verdict.allowed || ruleLimit.kind.limit.algorithm === "slidingWindowCounter";
  const seconds = toSeconds(waitMs);
  return `${remaining};t=${isWithin ? Math.min(seconds, texts.windowSeconds) : seconds}`;
}

/**
 * Until there is more than now, of a limit that admitted: of a bucket the next unit, of others the full quota.
 * Undefined of permits, of which it is not known.
 */
function moreMsOf({ verdict, ruleLimit }: Bound): number | undefined {
  if (ruleLimit.kind.isPermit) return undefined;
  const { algorithm, recoveryMs } = ruleLimit.kind.limit;
  const { limit, remaining, resetMs } = verdict;
  if (algorithm !== "tokenBucket" && algorithm !== "leakyBucket") return resetMs;
  // Those units that come after the next one, each in its time.
  const laterMs = ((limit - remaining - 1) * recoveryMs) / limit;
  return Math.min(resetMs, Math.max(1, resetMs - laterMs));
}

/**
 * Until a limit that refused would pass, and until the full quota of one that admitted is back, which is not known of
 * permits. The refusal's own time where it is that limit's, so that all headers say the same. Undefined if never, or if
 * it is not known.
 */
function shownMsOf(bound: Bound, retry: Retry | undefined): number | undefined {
  const { verdict, ruleLimit } = bound;
  if (verdict.allowed) return ruleLimit.kind.isPermit ? undefined : verdict.resetMs;
  const waitMs = waitMsOf(bound);
  if (waitMs === undefined || waitMs === Number.POSITIVE_INFINITY) return undefined;
  return waitMs === retry?.decidedMs ? retry.shownMs : Math.max(1, waitMs);
}

function toSeconds(ms: number): number {
  return clip(Math.ceil(ms / 1000));
}

function clip(integer: number): number {
  return Math.min(INTEGER_MAX, integer);
}
