// The keys that escalations of this node blocked. What the processes remember is compared with the store, which knows
// whether a block was ended or made longer.

import { SluiceError } from "sluice";
import { anyString, choice, object, optional, withDefault } from "sluice/shapes";
import type { Core } from "../../../core/core.js";
import type { EscalatedKey } from "../../../telemetry/tally/escalated-keys.js";
import { type AdminReply, json } from "../../replies/admin-reply.js";
import { answers } from "../../replies/reply-schemas.js";
import { queryNumber } from "../../request/paging.js";
import { type AdminContext, type AdminRequest, type Route, route } from "../../route.js";

const LIMIT = 100;
const LIMIT_MAX = 1_000;
/** Keys that the store is asked about together. */
const BATCH_MAX = 100;

interface Query {
  readonly rule: string | undefined;
  readonly limit: number;
  readonly keys: "hashed" | "clear";
}

const query = object({
  rule: optional(anyString(300), "Only this rule."),
  limit: withDefault(queryNumber({ min: 1, max: LIMIT_MAX }), LIMIT, "How many."),
  keys: withDefault(
    choice(["hashed", "clear"]),
    "hashed",
    "`clear` shows keys as they are counted, to operators.",
  ),
});

/** The route of the list. */
export const escalationRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/escalations",
    role: "viewer",
    summary:
      "Keys that escalations of this node blocked and that are still blocked, the latest first.",
    query,
    reply: answers.escalations,
    handle: answerEscalations,
  }),
];

async function answerEscalations(
  { core, control, clearKeys }: AdminContext,
  { query: asked, message, caller }: AdminRequest<Query>,
): Promise<AdminReply> {
  const showsKeys = clearKeys.shows(asked.keys, message.headers, caller);
  const known = await (control.escalatedKeys?.() ?? core.telemetry.escalatedKeys.list());
  const meant = known.filter(({ rule }) => asked.rule === undefined || rule === asked.rule);
  const blocked = await stillBlocked(core, meant, asked.limit);
  const items = blocked.map(({ rule, key, keyHash, level, blockedMs }) => ({
    rule,
    key: showsKeys ? key : keyHash,
    level,
    blockedMs,
  }));
  return json({ items });
}

/** Those that the store blocks, with the time that is left there. */
async function stillBlocked(
  core: Core,
  keys: readonly EscalatedKey[],
  limit: number,
): Promise<readonly EscalatedKey[]> {
  const blocked: EscalatedKey[] = [];
  for (let from = 0; from < keys.length && blocked.length < limit; from += BATCH_MAX) {
    const some = keys.slice(from, from + BATCH_MAX);
    const left = await Promise.all(some.map((each) => blockedMsOf(core, each)));
    for (const [i, each] of some.entries())
      if (left[i] > 0) blocked.push({ ...each, blockedMs: left[i] });
  }
  return blocked.slice(0, limit);
}

/** 0 if it is not blocked. While the store is unavailable, what this node knows. */
async function blockedMsOf({ policy }: Core, { rule, key, blockedMs }: EscalatedKey) {
  try {
    return (await policy.blockedMs(rule, key)) ?? blockedMs;
  } catch (error) {
    // Since then the rule was removed, or counts by something else.
    if (error instanceof SluiceError && GONE.has(error.code)) return 0;
    throw error;
  }
}

const GONE: ReadonlySet<string> = new Set(["SLUICE_RULE_UNKNOWN", "SLUICE_RULE_KEY_INVALID"]);
