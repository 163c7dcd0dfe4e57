// What the admin port answers, as shapes: the command checks every answer against them, so that it never
// reports success because of a page that some other server sent. Fields that are not listed may come too.

import {
  anyName,
  choice,
  constant,
  finiteNumber,
  flag,
  optional,
  orNull,
  type ReadAs,
  recordOf,
  required,
} from "sluice/shapes";
import { controlAnswers } from "./control-replies.js";
import { coverage, standings } from "./fleet-replies.js";
import { ledgerAnswers } from "./ledger-replies.js";
import { ANY_COUNT, amount, many, open, text } from "./reply-shapes.js";
import { top } from "./top-replies.js";

/** Every response of the admin port carries this header field; its value is the version of Sluice. */
export const ADMIN_HEADER = "sluice-admin";
/** Says how many entries an export has, for a progress bar. */
export const ENTRIES_HEADER = "Sluice-Entries";

const decision = open({
  allowed: required(flag),
  rule: optional(orNull(text)),
  reason: optional(orNull(text)),
  limit: optional(amount),
  remaining: optional(amount),
  retryAfterMs: optional(amount),
  resetMs: optional(amount),
  delayMs: optional(amount),
  source: optional(text),
  blockedMs: optional(amount),
  key: optional(text),
});

const explainedLimit = open({
  algorithm: required(text),
  limit: required(finiteNumber),
  remaining: required(finiteNumber),
  resetMs: required(amount),
  cost: required(finiteNumber),
  wouldPass: required(flag),
  retryAfterMs: required(amount),
  delayMs: required(finiteNumber),
});

const switchState = choice(["on", "off", "deny"]);

const escalation = open({
  refusals: required(finiteNumber, "So many within the window raise the level."),
  windowMs: required(finiteNumber),
  blocksMs: required(many(finiteNumber), "How long each level blocks; the last one repeats."),
  forgetMs: required(finiteNumber, "How long after the end of a block its level is forgotten."),
});

const explainedRule = open({
  rule: required(text),
  place: required(orNull(text)),
  isMatch: required(flag),
  conditions: required(
    many(
      open({
        on: required(choice(["path", "method", "host", "header", "attribute", "client"])),
        wanted: required(text),
        isMet: required(flag),
      }),
    ),
  ),
  notApplied: required(
    orNull(
      choice(["disabled", "exempt-ip", "exempt-key", "missing", "refused", "rollout", "unlimited"]),
    ),
  ),
  onExceed: required(choice(["reject", "delay", "shadow", "challenge"])),
  keyType: required(text),
  key: required(orNull(text)),
  from: required(orNull(choice(["rule", "override", "exception", "tier"]))),
  exception: required(
    orNull(
      open({
        by: required(choice(["apiKey", "user", "tenant", "plan"])),
        value: required(text),
        endsAtMs: required(amount),
      }),
    ),
  ),
  switch: required(switchState),
  settledBy: optional(orNull(text)),
  across: optional(text),
  region: optional(text),
  limits: required(many(explainedLimit)),
  escalate: optional(escalation),
  blockedMs: required(amount),
});

/** Why a request is refused. */
const REASONS = [
  "limit",
  "blocked",
  "identity",
  "store",
  "denied",
  "unknown-api-key",
  "unchecked-api-key",
] as const;

const explanation = open({
  version: required(text),
  allowed: required(flag),
  rule: required(orNull(text)),
  reason: required(orNull(choice(REASONS))),
  retryAfterMs: required(amount),
  delayMs: required(finiteNumber),
  block: required(
    orNull(
      open({
        subject: required(orNull(text)),
        reason: required(text),
        untilMs: required(amount),
      }),
    ),
  ),
  switch: required(switchState),
  requestPriority: optional(
    open({ priority: required(text), rule: optional(text) }),
    "When load is shed, and the rule that says so.",
  ),
  rules: required(many(explainedRule)),
});

/** `{ tokenBucket: { capacity: 20, refillPerSecond: 5 } }`. */
const limit = recordOf(
  anyName,
  open({
    refill: optional(open({ amount: required(finiteNumber), everyMs: required(finiteNumber) })),
  }),
  { countMin: 1, countMax: 1 },
);

const rules = open({
  version: required(text),
  isEnabled: optional(flag, "Whether the rules as a whole are in force, by what they say."),
  switchedTo: optional(switchState, "The switch of all rules."),
  switches: optional(
    many(open({ rule: required(text), state: required(switchState) })),
    "Rules that operators switched one by one.",
  ),
  rules: required(
    many(
      open({
        id: required(text),
        place: optional(orNull(text), "Where it stands in its file."),
        isEnabled: optional(flag, "What the rules say; an operator's switch is apart."),
        keyType: required(text),
        match: required(
          open({
            paths: required(many(text)),
            methods: required(many(text)),
            hosts: optional(many(text)),
          }),
        ),
        limits: required(many(limit)),
        tiers: required(recordOf(anyName, many(limit), ANY_COUNT)),
        overrides: optional(finiteNumber, "Keys that have limits of their own."),
        consistency: optional(text),
        across: optional(text),
        onExceed: required(text),
        onMissing: optional(text),
        escalate: optional(orNull(escalation)),
        priority: optional(finiteNumber),
        rolloutPercent: optional(finiteNumber),
        isOn: required(flag),
        switchedTo: optional(switchState),
      }),
    ),
  ),
});

const sampledCharge = open({
  rule: required(text),
  key: required(text, "As it is counted; hashed unless `keys=clear`."),
  cost: required(finiteNumber),
  shadow: required(flag),
  allowed: required(flag),
  limit: required(amount),
  remaining: required(amount),
  retryAfterMs: required(amount),
});

/** A decision that was kept. */
export const sampledDecision = open({
  atMs: required(finiteNumber, "By the wall clock."),
  listener: required(text),
  outcome: required(choice(["allowed", "delayed", "blocked"])),
  shadowBlocked: required(flag, "Whether a rule in shadow mode would have refused it."),
  reason: required(orNull(choice(REASONS))),
  rule: required(orNull(text), "The rule that bound."),
  key: required(orNull(text), "Under that rule."),
  endpoint: required(orNull(text), "The patterns of paths of that rule."),
  cost: required(finiteNumber),
  limit: required(amount),
  remaining: required(amount),
  retryAfterMs: required(amount),
  delayMs: required(finiteNumber),
  version: required(orNull(text), "Of the rules."),
  charges: required(many(sampledCharge), "What each limit of each matching rule said."),
  facts: required(
    orNull(
      open({
        method: required(text),
        path: required(text),
        host: optional(text),
        ip: optional(text),
        user: optional(text),
        apiKey: optional(text),
        tenant: optional(text),
        tier: optional(text),
        plan: optional(text),
        scopes: optional(many(text)),
      }),
    ),
    "What rules read of the request; null unless `keys=clear`.",
  ),
});

const samples = open({
  items: required(
    many(open({ ...sampledDecision.fields, node: required(orNull(text), "Which decided it.") })),
    "The newest first.",
  ),
  nodes: required(orNull(coverage), "Which nodes it covers."),
});

const target = { rule: required(text), key: required(text) };

/** The shapes of the answers, by question. */
export const answers = {
  check: decision,
  peek: decision,
  explain: explanation,
  reset: open({ ...target, reset: required(constant(true)) }),
  block: open({ ...target, blocked: required(constant(true)), forMs: required(amount) }),
  unblock: open({ ...target, blocked: required(constant(false)), wasBlocked: required(flag) }),
  refund: open({ ...target, refunded: required(finiteNumber) }),
  escalations: open({
    items: required(
      many(
        open({
          ...target,
          level: required(finiteNumber, "How often it was blocked, up to the number of blocks."),
          blockedMs: required(amount, "How long the block still lasts."),
        }),
      ),
      "The latest first. Keys are hashed unless `keys=clear`.",
    ),
  }),
  reload: open({
    reloaded: required(constant(true)),
    version: required(text),
    hasUnusedRules: optional(
      flag,
      "Whether the configuration has rules that are not used, because those of the control plane are.",
    ),
  }),
  regions: open({
    self: required(text, "The region of this node."),
    home: required(orNull(text), "The region that is home; null while that is not known."),
    standby: required(text, "The configured standby."),
    epoch: required(orNull(finiteNumber), "Raised by every promotion."),
    isOpen: required(flag, "Whether the home region's store said that it decides."),
    homeForMs: required(amount, "For how long it has been home; below zero until it is."),
    isContested: required(flag, "Whether two regions claim the same epoch."),
    fenceRefusals: required(
      finiteNumber,
      "Calls of this node that a store refused, not being home.",
    ),
  }),
  promotion: open({
    home: required(text),
    epoch: required(finiteNumber),
    isOldHomeFenced: required(flag, "Whether the old home region's store was fenced."),
    opensInMs: required(finiteNumber, "Until the new home region decides."),
  }),
  rules,
  top,
  samples,
  standings,
  ...controlAnswers,
  ...ledgerAnswers,
} as const;

/** The name of a question. */
export type ReplyName = keyof typeof answers;
/** The answer to a question. */
export type ReplyOf<N extends ReplyName> = ReadAs<(typeof answers)[N]>;
