// The shapes of what the control plane answers.

import {
  anyName,
  anything,
  choice,
  constant,
  finiteNumber,
  flag,
  optional,
  orNull,
  recordOf,
  required,
} from "sluice/shapes";
import { ROLES } from "../../control/credentials/access-tokens.js";
import { blockShape } from "../../control/entities/blocks.js";
import { overrideShape } from "../../control/entities/overrides.js";
import { planShape } from "../../control/entities/plans.js";
import { switchShape } from "../../control/entities/switches.js";
import { tenantShape } from "../../control/entities/tenants.js";
import { DELIVERY_STATES } from "../../ledger/webhooks/deliveries.js";
import { coverage } from "./fleet-replies.js";
import { ANY_COUNT, many, open, pageOf, text } from "./reply-shapes.js";

const identified = {
  id: required(text),
  revision: required(finiteNumber, "The ETag is this number in quotes."),
};

const plan = open({ ...identified, ...planShape.fields });
const tenant = open({ ...identified, ...tenantShape.fields });
const override = open({ ...identified, ...overrideShape.fields });
const block = open({ ...identified, ...blockShape.fields });
const ruleSwitch = open({ ...identified, ...switchShape.fields });

const nodeSwitch = open({
  ...switchShape.fields,
  rule: required(text, "The id of a rule, or * for all rules."),
  actor: required(text, "Who set it."),
  sinceMs: required(finiteNumber, "When, in milliseconds since 1970."),
});

const ruleSetHead = open({
  number: required(finiteNumber),
  status: required(choice(["draft", "published", "superseded"])),
  note: required(text, "What was said when it was published."),
  basedOn: required(finiteNumber, "The version that was published when it was made; 0 for none."),
  revision: required(finiteNumber, "The ETag is this number in quotes."),
  publishedAtMs: optional(finiteNumber, "When it was published, in milliseconds since 1970."),
  publishedBy: optional(text, "Who published it."),
});

const ruleSet = open({
  ...ruleSetHead.fields,
  text: required(text, "The rules as they were written: YAML or JSON."),
});

const validation = open({
  valid: required(flag),
  version: required(orNull(text), "Of the rules; null if they are not valid."),
  problems: required(
    many(
      open({
        message: required(text),
        rule: optional(text),
        line: optional(finiteNumber),
        column: optional(finiteNumber),
      }),
    ),
  ),
});

const ruleSetDiff = open({
  fromVersion: required(text),
  toVersion: required(text),
  fields: required(many(text), "Fields of the whole set that changed."),
  added: required(many(text)),
  removed: required(many(text)),
  changed: required(
    many(
      open({
        id: required(text),
        fields: optional(many(text), "Those that changed, by their names in a file."),
        counters: optional(
          choice(["kept", "carried", "empty"]),
          "What becomes of what was used: the worst of its limits.",
        ),
      }),
    ),
  ),
});

const ofKey = {
  rule: required(
    orNull(text),
    "Null where no rule refused: a blocked caller, or everything denied.",
  ),
  newlyRefused: required(
    finiteNumber,
    "Requests that the draft refuses and the rules in force don't.",
  ),
  newlyAllowed: required(finiteNumber, "The reverse."),
};

const preview = open({
  version: required(text, "Of the draft."),
  inForceVersion: required(text),
  fromMs: required(finiteNumber, "From when requests are in the sample, in Unix milliseconds."),
  toMs: required(finiteNumber),
  keysShare: required(finiteNumber, "The share of keys that are in the sample, 0 to 1."),
  samplesLeftOut: required(finiteNumber, "Requests that there was no time for."),
  nodes: required(orNull(coverage), "The nodes whose requests were decided again."),
  requests: required(
    open({
      total: required(finiteNumber),
      refusedBefore: required(finiteNumber, "By the rules in force."),
      refusedAfter: required(finiteNumber, "By the draft."),
      newlyRefused: required(finiteNumber),
      newlyAllowed: required(finiteNumber),
      unjudged: required(finiteNumber, "Differences of keys that are in the sample only in part."),
      asDecided: required(finiteNumber, "Those that the rules in force answer now as they did."),
    }),
  ),
  callers: required(
    open({
      total: required(finiteNumber),
      newlyRefused: required(finiteNumber, "Callers that are refused at least once more."),
      newlyAllowed: required(finiteNumber, "Callers that are allowed at least once more."),
    }),
  ),
  byRule: required(many(open({ ...ofKey, keys: required(finiteNumber) }))),
  byKey: required(many(open({ ...ofKey, key: required(orNull(text)) }))),
  keysLeftOut: required(finiteNumber, "Keys with differences that are not listed."),
  unjudgedRules: required(
    many(open({ rule: required(text), why: required(text) })),
    "Rules of the draft that samples don't show wholly.",
  ),
});

const apiKey = open({
  id: required(text),
  tenant: required(text),
  name: required(text),
  scopes: required(many(text)),
  createdAtMs: required(finiteNumber),
  expiresAtMs: optional(finiteNumber),
  replacedBy: optional(text, "The key that replaces it."),
  lastUsedAtMs: required(
    orNull(finiteNumber),
    "The start of the hour in which it was last used, in Unix milliseconds; null if it was not.",
  ),
  countedAs: optional(text, "The first key of its rotations, under whose id it is counted."),
});

const accessToken = open({
  id: required(text),
  name: required(text),
  role: required(choice(ROLES)),
  createdAtMs: required(finiteNumber),
  expiresAtMs: optional(finiteNumber),
});

const secret = required(text, "Shown here and nowhere else: only a hash of it is kept.");
const body = optional(recordOf(anyName, anything(), ANY_COUNT));

const auditEntry = open({
  sequence: required(finiteNumber),
  changeId: required(text),
  atMs: required(finiteNumber),
  actor: required(text),
  origin: required(text),
  action: required(text),
  kind: required(text),
  entityId: required(text),
  reason: required(text),
  before: body,
  after: body,
  hash: required(text),
});

const session = open({
  name: required(text),
  role: required(choice(ROLES)),
  csrfToken: required(
    orNull(text),
    "To be sent in X-CSRF-Token with every change; null without a session.",
  ),
  controlPlane: optional(
    choice(["here", "elsewhere", "none"]),
    "Whether this node has a control plane, follows one, or neither.",
  ),
});

const node = open({
  name: required(text),
  kind: required(choice(["control", "follower"])),
  version: required(text, "Of Sluice."),
  sequence: required(finiteNumber, "The last change that it has applied, as far as is known here."),
  behind: required(finiteNumber, "How many changes it has still to apply."),
  seenAtMs: required(finiteNumber, "When it was last heard of, in Unix milliseconds."),
  isAway: required(flag, "Whether it has not been heard of for half a minute."),
  via: required(text, "The control node that knows of it."),
});

const webhookDelivery = open({
  id: required(text),
  eventId: required(text, "The same in every request to the receiver."),
  webhook: required(text, "Its name in the configuration."),
  state: required(choice(DELIVERY_STATES)),
  meter: required(text, "The rule whose quota it is about."),
  sharePercent: required(finiteNumber, "The share of the quota that was reached."),
  eventAtMs: required(finiteNumber),
  createdAtMs: required(finiteNumber),
  attempts: required(finiteNumber, "Attempts that have begun."),
  nextAttemptAtMs: required(orNull(finiteNumber), "Null unless it is pending."),
  endedAtMs: required(orNull(finiteNumber), "When it was delivered or given up."),
  lastStatus: required(orNull(finiteNumber)),
  lastError: required(orNull(text)),
  history: required(
    many(
      open({
        attempt: required(finiteNumber),
        atMs: optional(finiteNumber),
        tookMs: optional(finiteNumber),
        status: optional(finiteNumber),
        error: optional(text),
      }),
    ),
    "The latest attempts, the last one at the end.",
  ),
});

/** The shapes, by what is answered. */
export const controlAnswers = {
  plan,
  plans: pageOf(plan),
  tenant,
  tenants: pageOf(tenant),
  override,
  overrides: pageOf(override),
  blockEntry: block,
  blocks: pageOf(block),
  switch: ruleSwitch,
  switches: pageOf(ruleSwitch),
  nodeSwitch,
  nodeSwitches: pageOf(nodeSwitch),
  ruleSet,
  ruleSets: pageOf(ruleSetHead),
  validation,
  ruleSetDiff,
  preview,
  apiKey,
  apiKeys: pageOf(apiKey),
  newApiKey: open({ ...apiKey.fields, secret }),
  accessToken,
  accessTokens: pageOf(accessToken),
  newAccessToken: open({ ...accessToken.fields, secret }),
  reported: open({ reported: required(constant(true)) }),
  nodes: open({ items: required(many(node)) }),
  audit: pageOf(auditEntry),
  auditEntry,
  webhookDelivery,
  webhookDeliveries: pageOf(webhookDelivery),
  auditReport: open({
    rows: required(finiteNumber, "Entries that were read."),
    valid: required(flag),
    problem: required(orNull(text), "The first thing that is wrong."),
  }),
  session,
  removed: open({ id: required(text), removed: required(constant(true)) }),
} as const;
