// Measures the demand of the callers of access logs, and suggests limits. Callers are counted by the key that a rule
// would count them by: a policy with that rule makes the keys.

import { isThenable } from "sluice/internals";
import type { Facts, RuleSet } from "sluice/rules";
import { sharedFacts } from "../../access-logs/formats/shared-facts.js";
import type { LogEntry } from "../../access-logs/log-entry.js";
import { LoggedClients } from "../../access-logs/logged-clients.js";
import {
  type LogsToRead,
  type ReadSummary,
  readLogs,
} from "../../access-logs/reading/read-logs.js";
import { newSecret } from "../../telemetry/random.js";
import { needsOf } from "../log-replay/entry-needs.js";
import { judgedRules } from "../log-replay/judged-rules.js";
import { remarksOnLog } from "../log-replay/log-remarks.js";
import { Replay } from "../replay/replay.js";
import { Demand } from "./demand.js";
import { type Suggestion, suggestLimits } from "./suggestion.js";

/** What limits are suggested for. */
export interface SuggestInput extends LogsToRead {
  /** One rule, whose key and match say who is counted by what. Its limit is not looked at. */
  readonly rules: RuleSet;
  /** The share of callers that may be refused, from 0 to 1. */
  readonly refuseAtMost: number;
  /** Callers whose demand is kept. */
  readonly callersMax?: number | undefined;
  /** Chooses which callers are kept if there are more. Default: random, so that no client can. */
  readonly sampleSalt?: number | undefined;
}

/** What a log says. */
export interface Suggested {
  /** Undefined if no request had a key. */
  readonly suggestion: Suggestion | undefined;
  readonly log: ReadSummary;
  /** Requests that were counted, and those that the rule does not match or that have no value for the key. */
  readonly counted: number;
  readonly uncounted: number;
  /** The first and the last request, in Unix milliseconds; null if there is none. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** What a reader has to know of the log to judge the figures. */
  readonly remarks: readonly string[];
  /** Why the log can't say it; undefined if it can. */
  readonly why: string | undefined;
}

/** Counters are not looked at. */
const BOUNDS = { keysMax: 1_024, receiptsMax: 1, requestsMax: 1, blocksMax: 1 };

/** Reads logs to their ends, and suggests limits. */
export async function suggestFromLogs(input: SuggestInput): Promise<Suggested> {
  const facts = sharedFacts(input.sources.map(({ format }) => format.facts));
  const judged = judgedRules(input.rules, facts);
  const measuring = new Measuring(await Replay.of(judged.rules, { bounds: BOUNDS }), input);
  try {
    const log = await readLogs(input.sources, {
      needs: needsOf([judged], input.trustedProxies, facts),
      bounds: input.reorderMs === undefined ? undefined : { windowMs: input.reorderMs },
      take: (entry) => measuring.take(entry),
      ...(input.onRead === undefined ? {} : { onRead: input.onRead }),
    });
    const { counted, uncounted, fromMs, toMs, demand } = measuring;
    const suggestion = counted === 0 ? undefined : suggestLimits(demand, input.refuseAtMost);
    const [note] = judged.notes.filter(({ isLeftOut }) => isLeftOut);
    const remarks = [...remarksOnLog(log, measuring.clients)];
    return { suggestion, log, counted, uncounted, fromMs, toMs, remarks, why: note?.why };
  } finally {
    await measuring.close();
  }
}

class Measuring {
  readonly demand: Demand;
  counted = 0;
  uncounted = 0;
  fromMs: number | null = null;
  toMs: number | null = null;
  readonly #replay: Replay;
  /** Undefined if no proxy is trusted. */
  readonly clients: LoggedClients | undefined;
  #key: string | undefined;

  constructor(replay: Replay, { trustedProxies, callersMax, sampleSalt }: SuggestInput) {
    this.#replay = replay;
    this.clients = trustedProxies && new LoggedClients(trustedProxies);
    this.demand = new Demand(sampleSalt ?? newSecret().readInt32LE(), callersMax);
  }

  take(entry: LogEntry): void {
    entry.fillIn();
    this.clients?.find(entry);
    this.fromMs ??= entry.atMs;
    this.toMs = entry.atMs;
    this.#key = undefined;
    const decision = this.#replay.admit(entry.atMs, entry as Facts);
    if (!isThenable(decision))
      decision.eachCharge((_, { key }) => {
        this.#key = key;
      });
    if (this.#key === undefined) {
      this.uncounted++;
      return;
    }
    this.counted++;
    this.demand.add(this.#key, entry.atMs);
  }

  close(): Promise<void> {
    return this.#replay.close();
  }
}
