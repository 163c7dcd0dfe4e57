// What operators do to requests and keys through the admin port: the verbs of a policy, and the kill switch.

import {
  CallerRefusal,
  type Explanation,
  type Facts,
  type Policy,
  type PolicyDecision,
} from "sluice/rules";
import { didYouMean } from "../../../base/did-you-mean.js";
import { ServerError, show } from "../../../base/errors.js";
import type { ChangeRequest } from "../../../control/changes/changes.js";
import type { Collection } from "../../../control/entities/collection.js";
import { ALL_RULES, type Switch } from "../../../control/entities/switches.js";
import type { Core } from "../../../core/core.js";
import { SentApiKeys, withoutKey } from "../../../core/sent-api-keys.js";
import type { AdminControl } from "../../service-control.js";
import { toRulesView } from "../rules-view.js";
import { type ApiKeyCounting, mustHaveHashes, toFacts } from "./api-key-facts.js";
import type { Input } from "./counter-inputs.js";

/** Decides a request described by its facts, and charges it; what a request would hold is refunded. */
export async function check(core: Core, { facts, cost }: Input<"check">): Promise<object> {
  const policy = decidingPolicy(core);
  const { asked, refusal } = await toAsked(core, facts);
  const decision =
    refusal === undefined
      ? await policy.admit(asked, cost === undefined ? {} : { cost })
      : policy.refuse(refusal);
  // There is no response here, so there is nothing to wait for.
  if (decision.isHeld) await decision.finish();
  core.telemetry.decided("decision", decision, asked);
  return toAnswer(policy, asked, decision);
}

/** What `check` would answer. */
export async function peek(core: Core, { facts, cost }: Input<"peek">): Promise<object> {
  const policy = decidingPolicy(core);
  const { asked, refusal } = await toAsked(core, facts);
  if (refusal !== undefined) return toAnswer(policy, asked, policy.refuse(refusal));
  const decision = await policy.peek(asked, cost === undefined ? {} : { cost });
  return toAnswer(policy, asked, decision);
}

/** Which rules a request meets, and why. */
export async function explain(core: Core, input: Input<"explain">): Promise<object> {
  const { facts, cost, all = false, counters = false } = input;
  const options = { all, counters, ...(cost === undefined ? {} : { cost }) };
  const { asked, refusal } = await toAsked(core, facts);
  const explanation = await decidingPolicy(core).explain(asked, options);
  return refusal === undefined ? explanation : withRefusal(explanation, refusal);
}

/** The explanation of a request whose API key is not known: only an operator's refusal comes before that. */
function withRefusal(explanation: Explanation, refusal: CallerRefusal): Explanation {
  if (explanation.block !== null || explanation.reason === "denied") return explanation;
  const { reason, retryAfterMs } = refusal;
  return {
    ...explanation,
    allowed: false,
    rule: null,
    reason,
    retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : null,
  };
}

/** What a verb did, to which key of which rule. */
export interface Acted {
  readonly rule: string;
  readonly key: string;
  readonly [result: string]: unknown;
}

/** Forgets what a key used. */
export async function reset(core: Core, input: Input<"reset">, requestId?: string): Promise<Acted> {
  const { rule, key } = await toTarget(core, input);
  await core.policy.reset(rule, key, { requestId });
  return { rule, key, reset: true };
}

/** Refuses every request of a key. */
export async function block(core: Core, input: Input<"block">): Promise<Acted> {
  const { rule, key } = await toTarget(core, input);
  await core.policy.block(rule, key, input.forMs ?? Number.POSITIVE_INFINITY);
  return { rule, key, blocked: true, forMs: input.forMs };
}

/** Ends a block. */
export async function unblock(core: Core, input: Input<"unblock">): Promise<Acted> {
  const { rule, key } = await toTarget(core, input);
  const wasBlocked = await core.policy.unblock(rule, key);
  return { rule, key, blocked: false, wasBlocked };
}

/** Grants a key units. */
export async function refund(
  core: Core,
  input: Input<"refund">,
  requestId?: string,
): Promise<Acted> {
  const { rule, key } = await toTarget(core, input);
  return { rule, key, refunded: await core.policy.refund(rule, key, input.cost, { requestId }) };
}

/** The key that is meant: the one that was written, or that of a request under the rule. */
async function toTarget(core: Core, { rule, key, facts }: Input<"reset">) {
  if (key !== undefined) {
    mustHaveHashes(key, keyOptionsOf(core));
    return { rule, key };
  }
  mustExist(core, rule);
  const { asked, refusal } = await toAsked(core, facts ?? NO_FACTS);
  if (refusal !== undefined) throw toUnresolved(refusal);
  const { rules } = await core.policy.explain(asked, { all: true });
  const found = rules.find((explained) => explained.rule === rule)?.key ?? undefined;
  if (found !== undefined) return { rule, key: found };
  const seen = `rule ${show(rule)} does not count a request with these facts`;
  throw new ServerError("SLUICE_REQUEST_INVALID", seen);
}

function toUnresolved({ reason }: CallerRefusal): ServerError {
  return reason === "unknown-api-key"
    ? new ServerError(
        "SLUICE_REQUEST_INVALID",
        "facts.apiKey is unknown, expired or revoked; name the key by facts.apiKeyId",
      )
    : new ServerError(
        "SLUICE_CONTROL_UNAVAILABLE",
        "facts.apiKey can't be checked now; try again, or name the key by facts.apiKeyId",
      );
}

const NO_FACTS = { method: "GET", path: "/" };

/** Switches a rule off or on, or all of them, in every policy; answers the rules as they are then. */
export async function switchRule(
  core: Core,
  control: AdminControl,
  ruleId: string | undefined,
  isOn: boolean,
): Promise<object> {
  if (ruleId !== undefined) mustExist(core, ruleId);
  if (control.switchRule !== undefined) await control.switchRule(ruleId, isOn);
  else {
    for (const policy of [core.policy, core.blindPolicy]) {
      if (isOn) policy?.enable(ruleId);
      else policy?.disable(ruleId);
    }
  }
  return toRulesView(core.policy);
}

/** Switches a rule off or on, or all of them, on every node. */
export async function switchEverywhere(
  switches: Collection<Switch>,
  change: ChangeRequest,
  ruleId: string | undefined,
  isOn: boolean,
): Promise<void> {
  const id = ruleId ?? ALL_RULES;
  if (isOn) {
    if ((await switches.find(id)) !== undefined) await switches.remove(change, id);
    return;
  }
  const reason = change.reason === "" ? "switched off by an operator" : change.reason;
  await switches.put(change, { id, input: { state: "off", reason } });
}

/** A rule in force, or one that is gone and still switched off. @throws ServerError `SLUICE_NOT_FOUND`. */
export function mustExist({ policy }: Core, ruleId: string): void {
  const isKnown =
    policy.ruleOf(ruleId) !== undefined ||
    policy.switches.rules.some(({ rule }) => rule === ruleId);
  if (isKnown) return;
  const hint = didYouMean(
    ruleId,
    policy.rules.rules.map(({ id }) => id),
  );
  throw new ServerError("SLUICE_NOT_FOUND", `there is no rule ${show(ruleId)}${hint}`);
}

/** No listener of this port sees a response, so the policy of such listeners decides where there is one. */
function decidingPolicy({ policy, blindPolicy }: Core): Policy {
  return blindPolicy ?? policy;
}

/** A request that is asked about, as every listener would see it. */
export interface Asked {
  readonly asked: Facts;
  /** Why its caller may not pass, whatever the rules say: its API key is not known, or can't be checked now. */
  readonly refusal?: CallerRefusal;
}

/** An API key in clear is resolved as on the data plane, where keys are; elsewhere it is hashed. */
export async function toAsked(core: Core, facts: Input<"check">["facts"]): Promise<Asked> {
  const hashed = toFacts(facts, keyOptionsOf(core));
  const { keyResolver, unknownKeys } = core.config.identity;
  if (keyResolver === undefined || facts.apiKey === undefined) return { asked: hashed };
  const keys = new SentApiKeys(keyResolver, unknownKeys);
  const found = await keys.resolve({ ...hashed, apiKey: facts.apiKey });
  return found instanceof CallerRefusal
    ? { asked: withoutKey(hashed), refusal: found }
    : { asked: found };
}

function keyOptionsOf({ config: { identity, apiKeys } }: Core): ApiKeyCounting {
  return { keySecret: identity.keySecret, hasIds: apiKeys !== undefined };
}

async function toAnswer(policy: Policy, facts: Facts, decision: PolicyDecision): Promise<object> {
  const answer = { ...decision.toJSON(), results: decision.results };
  if (decision.reason !== "blocked") return answer;
  if (decision.block !== undefined) return { ...answer, key: decision.block.subject };
  // Decisions don't show keys, but an operator needs the one that is blocked to unblock it.
  const { rules } = await policy.explain(facts);
  return { ...answer, key: rules.find(({ rule }) => rule === decision.rule)?.key ?? undefined };
}
