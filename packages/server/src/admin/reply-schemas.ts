// What the admin port answers, as schemas: the command checks every answer against them, so that it never
// reports success because of a page that some other server sent. Fields that are not listed may come too.

import { z } from "zod";

/** Every response of the admin port carries this header field; its value is the version of Sluice. */
export const ADMIN_HEADER = "sluice-admin";

const text = z.string();
/** JSON has no Infinity: it is null. */
const amount = z.number().nullable();

const decision = z.looseObject({
  allowed: z.boolean(),
  rule: text.nullish(),
  reason: text.nullish(),
  limit: amount.optional(),
  remaining: amount.optional(),
  retryAfterMs: amount.optional(),
  resetMs: amount.optional(),
  delayMs: amount.optional(),
  source: text.optional(),
  blockedMs: amount.optional(),
  key: text.optional(),
});

const explainedLimit = z.looseObject({
  algorithm: text,
  limit: z.number(),
  remaining: z.number(),
  resetMs: amount,
  cost: z.number(),
  wouldPass: z.boolean(),
  retryAfterMs: amount,
  delayMs: z.number(),
});

const explainedRule = z.looseObject({
  rule: text,
  place: text.nullable(),
  isMatch: z.boolean(),
  conditions: z.array(
    z.looseObject({
      on: z.enum(["path", "method", "host", "header", "attribute"]),
      wanted: text,
      isMet: z.boolean(),
    }),
  ),
  notApplied: z
    .enum(["disabled", "exempt-ip", "exempt-key", "missing", "refused", "rollout", "unlimited"])
    .nullable(),
  onExceed: z.enum(["reject", "delay", "shadow"]),
  keyType: text,
  key: text.nullable(),
  from: z.enum(["rule", "tier", "override"]).nullable(),
  limits: z.array(explainedLimit),
  blockedMs: amount,
});

const explanation = z.looseObject({
  version: text,
  allowed: z.boolean(),
  rule: text.nullable(),
  reason: z.enum(["limit", "blocked", "identity", "store"]).nullable(),
  retryAfterMs: amount,
  delayMs: z.number(),
  rules: z.array(explainedRule),
});

/** `{ tokenBucket: { capacity: 20, refillPerSecond: 5 } }`. */
const limit = z
  .record(
    text,
    z.looseObject({
      refill: z.looseObject({ amount: z.number(), everyMs: z.number() }).optional(),
    }),
  )
  .refine((one) => Object.keys(one).length === 1, "expected one algorithm");

const rules = z.looseObject({
  version: text,
  rules: z.array(
    z.looseObject({
      id: text,
      keyType: text,
      match: z.looseObject({ paths: z.array(text), methods: z.array(text) }),
      limits: z.array(limit),
      tiers: z.record(text, z.array(limit)),
      onExceed: text,
      isOn: z.boolean(),
    }),
  ),
});

const topKey = z.looseObject({ rule: text, key: text, perSecond: z.number() });

const top = z.looseObject({
  version: text,
  seconds: z.number(),
  rules: z.array(
    z.looseObject({
      rule: text,
      keyType: text,
      endpoint: text,
      allowedPerSecond: z.number(),
      blockedPerSecond: z.number(),
      shadowBlockedPerSecond: z.number(),
      allowed: z.number(),
      blocked: z.number(),
    }),
  ),
  hottest: z.array(topKey),
  mostRefused: z.array(topKey),
});

const target = { rule: text, key: text };

/** The schemas of the answers, by question. */
export const answers = {
  check: decision,
  peek: decision,
  explain: explanation,
  reset: z.looseObject({ ...target, reset: z.literal(true) }),
  block: z.looseObject({ ...target, blocked: z.literal(true), forMs: z.number().nullable() }),
  unblock: z.looseObject({ ...target, blocked: z.literal(false), wasBlocked: z.boolean() }),
  refund: z.looseObject({ ...target, refunded: z.number() }),
  reload: z.looseObject({ reloaded: z.literal(true), version: text }),
  rules,
  top,
} as const;

/** The name of a question. */
export type ReplyName = keyof typeof answers;
/** The answer to a question. */
export type ReplyOf<N extends ReplyName> = z.infer<(typeof answers)[N]>;
