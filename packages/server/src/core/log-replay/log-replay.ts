// Decides the requests of access logs again, by new rules and by old ones beside them, with the library's own policy and
// a clock that follows the log. The answer is a report.

import { isThenable } from "sluice/internals";
import type { Facts, PolicyDecision, RequestEnd } from "sluice/rules";
import { sharedFacts } from "../../access-logs/formats/shared-facts.js";
import type { LogEntry } from "../../access-logs/log-entry.js";
import { LoggedClients } from "../../access-logs/logged-clients.js";
import { readLogs } from "../../access-logs/reading/read-logs.js";
import { ServerError } from "../../base/errors.js";
import { newSecret } from "../../telemetry/random.js";
import { Replay, settled } from "../replay/replay.js";
import { needsOf } from "./entry-needs.js";
import { type JudgedRules, judgedRules } from "./judged-rules.js";
import type { LogReplayInput } from "./log-replay-input.js";
import { type CallersCounted, callersUnder, LogTally } from "./log-tally.js";
import { PlannedRequests } from "./planned-requests.js";
import type { ReplayReport } from "./replay-report.js";
import { type Shortage, toReport } from "./to-report.js";

/** Keys as in a service with the default configuration. */
const KEYS_MAX = 1_000_000;
/** Callers that rules with `escalate` block at the same time. */
const BLOCKS_MAX = 100_000;

/**
 * Replays logs to their ends.
 *
 * @throws What keeps a policy from using the rules, and errors of the file system.
 */
export async function replayLogs(input: LogReplayInput): Promise<ReplayReport> {
  const facts = sharedFacts(input.sources.map(({ format }) => format.facts));
  const after = judgedRules(input.rules.rules, facts);
  const before = input.against && judgedRules(input.against.rules, facts);
  const replay = await LogReplay.of(input, after, before);
  try {
    const log = await readLogs(input.sources, {
      needs: needsOf([after, before], input.trustedProxies, facts),
      bounds: input.reorderMs === undefined ? undefined : { windowMs: input.reorderMs },
      take: (entry) => {
        const isAllowed = replay.take(entry);
        input.onDecided?.(entry.fillIn(), isAllowed);
      },
      ...(input.onRead === undefined ? {} : { onRead: input.onRead }),
    });
    replay.end();
    return toReport(input, {
      after,
      before,
      log,
      clients: replay.clients,
      tally: replay.tally,
      shortage: replay.shortage,
    });
  } finally {
    await replay.close();
  }
}

class LogReplay {
  /** Undefined before the first request. */
  tally: LogTally | undefined;
  readonly #after: Replay;
  readonly #before: Replay | undefined;
  /** Undefined if no proxy is trusted. */
  readonly clients: LoggedClients | undefined;
  /** Undefined if the rules can't be planned. */
  readonly #planned: PlannedRequests | undefined;
  readonly #callers: CallersCounted;
  /** How the request ended that is being decided, filled in again for each. */
  readonly #end: { -readonly [F in keyof RequestEnd]: RequestEnd[F] } = {};

  static async of(
    { trustedProxies, keysMax = KEYS_MAX, sampleSalt }: LogReplayInput,
    after: JudgedRules,
    before: JudgedRules | undefined,
  ): Promise<LogReplay> {
    // One seed for both, so that a key is hashed once.
    const secret = newSecret();
    const seed = { low: secret.readInt32LE(0), high: secret.readInt32LE(4) };
    const bounds = { keysMax, receiptsMax: 1_024, requestsMax: 1, blocksMax: BLOCKS_MAX, seed };
    const first = await Replay.of(after.rules, { bounds });
    const second =
      before &&
      (await Replay.of(before.rules, { bounds }).catch(async (error: unknown) => {
        await first.close();
        throw error;
      }));
    const planned = PlannedRequests.of(
      { replay: first, rules: after.rules },
      second && before && { replay: second, rules: before.rules },
    );
    const clients = trustedProxies && new LoggedClients(trustedProxies);
    const sides = before ? ([after.rules, before.rules] as const) : ([after.rules] as const);
    const callers = callersUnder(sides, sampleSalt ?? secret.readInt32LE(8));
    return new LogReplay({ after: first, before: second, planned, clients, callers });
  }

  private constructor(parts: {
    readonly after: Replay;
    readonly before: Replay | undefined;
    readonly planned: PlannedRequests | undefined;
    readonly clients: LoggedClients | undefined;
    readonly callers: CallersCounted;
  }) {
    this.#after = parts.after;
    this.#before = parts.before;
    this.#planned = parts.planned;
    this.clients = parts.clients;
    this.#callers = parts.callers;
  }

  /** Decides a request. Returns whether the new rules allow it. */
  take(entry: LogEntry): boolean {
    this.clients?.find(entry);
    this.tally ??= new LogTally(entry.atMs, this.#before !== undefined, this.#callers);
    const planned = this.#planned?.decide(entry, this.tally);
    if (planned !== undefined) return planned;
    entry.fillIn();
    const after = this.#decide(this.#after, entry);
    const before = this.#before && this.#decide(this.#before, entry);
    if (after.delayMs > 0) this.tally.after.delayed++;
    this.tally.add(entry, after, before);
    return after.allowed;
  }

  /** To be called when all requests were decided. */
  end(): void {
    if (this.tally !== undefined) this.#planned?.end(this.tally);
  }

  /** What the memory for counters could not hold, on the side that lacked more. */
  get shortage(): Shortage {
    const sides = this.#before === undefined ? [this.#after] : [this.#after, this.#before];
    return {
      evictions: Math.max(...sides.map(({ evictions }) => evictions)),
      isLogFull: sides.some(({ arenaRefusals }) => arenaRefusals > 0),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#after.close(), this.#before?.close()]);
  }

  #decide(replay: Replay, entry: LogEntry): PolicyDecision {
    const decision = replay.admit(entry.atMs, entry as Facts);
    // A store in memory answers immediately.
    if (isThenable(decision)) throw new ServerError("SLUICE_FAULT", "a replay had to wait");
    if (!decision.isHeld) return decision;
    this.#end.status = entry.status === 0 ? undefined : entry.status;
    this.#end.bytes = entry.bodyBytes < 0 ? undefined : entry.bodyBytes;
    return settled(decision, this.#end);
  }
}
