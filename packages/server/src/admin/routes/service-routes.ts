// What operators see of a running service, and what they do to it as a whole: metrics, rules in force, top lists,
// statistics, reload and the kill switch.

import { anyString, anything, choice, object, optional, withDefault } from "sluice/shapes";
import { readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Core } from "../../core/core.js";
import { LATEST_SAMPLES, type SamplesQuery } from "../../telemetry/samples/sampled-decision.js";
import { type AdminReply, json, problem, text } from "../replies/admin-reply.js";
import { answers } from "../replies/reply-schemas.js";
import { toChange } from "../request/change-request.js";
import { queryNumber } from "../request/paging.js";
import { type AdminContext, type AdminRequest, nothing, type Route, route } from "../route.js";
import { onlyReason } from "./control/collection-routes.js";
import * as verbs from "./counters/counter-verbs.js";
import { toRulesView } from "./rules-view.js";

/** The status of a reload whose files can't be used. */
const UNUSABLE = 422;
/** The media type of Prometheus' text format. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** More than a key can have. */
const KEY_LENGTH_MAX = 4_096;
const SAMPLES_MAX = 1_000;

const anyObject = anything({ type: "object" });

const keys = withDefault(
  choice(["hashed", "clear"]),
  "hashed",
  "`clear` shows keys as they are counted, to operators.",
);

const topQuery = object({ rule: optional(anyString(300), "Only this rule."), keys });

const samplesQuery = object({
  rule: optional(anyString(300), "Only decisions that this rule was part of."),
  key: optional(anyString(KEY_LENGTH_MAX), "Only decisions with this key, hashed or in clear."),
  outcome: optional(choice(["allowed", "delayed", "blocked"])),
  limit: withDefault(queryNumber({ min: 1, max: SAMPLES_MAX }), LATEST_SAMPLES, "How many."),
  keys,
});

/** The routes of the service itself. */
export const serviceRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/metrics",
    role: "viewer",
    summary: "Metrics in Prometheus' text format.",
    reply: undefined,
    handle: async ({ control }) => text(await control.metrics(), METRICS_TYPE),
  }),
  route({
    method: "GET",
    path: "/v1/version",
    role: "viewer",
    summary: "Versions of the package, of Node and of the rules.",
    reply: anyObject,
    handle: ({ core, version }) =>
      json({ name: "sluice", version, node: process.version, rules: core.policy.version }),
  }),
  route({
    method: "GET",
    path: "/v1/rules",
    role: "viewer",
    summary: "The rules in force on this node, their version, and which are disabled.",
    reply: answers.rules,
    handle: ({ core }) => json(toRulesView(core.policy)),
  }),
  route({
    method: "GET",
    path: "/v1/top",
    role: "viewer",
    summary: "Rates of rules and their heaviest keys.",
    query: topQuery,
    reply: answers.top,
    handle: answerTop,
  }),
  route({
    method: "GET",
    path: "/v1/samples",
    role: "viewer",
    summary:
      "Sampled decisions, the newest first: refusals, and all decisions about sampled keys. A control node adds the newest 100 of each follower.",
    query: samplesQuery,
    reply: answers.samples,
    handle: answerSamples,
  }),
  route({
    method: "GET",
    path: "/v1/stats",
    role: "viewer",
    summary: "Statistics of the store, of leases and of the process.",
    reply: anyObject,
    handle: ({ core }) => json(toStats(core)),
  }),
  route({
    method: "POST",
    path: "/v1/reload",
    role: "admin",
    summary: "Reads rules and configuration again; reports what is wrong with them.",
    input: nothing,
    reply: answers.reload,
    handle: answerReload,
  }),
  ...[
    ["/v1/rules/disable", "Switches all rules off.", false] as const,
    ["/v1/rules/enable", "Switches all rules on.", true] as const,
    ["/v1/rules/{id}/disable", "Switches a rule off.", false] as const,
    ["/v1/rules/{id}/enable", "Switches a rule on.", true] as const,
  ].map(([path, summary, isOn]) =>
    route({
      method: "POST",
      path,
      role: "operator",
      summary,
      input: onlyReason,
      reply: answers.rules,
      handle: (context, request) => answerSwitch(context, request, isOn),
    }),
  ),
];

/** A file that can't be used is not a failure of the service: what was in force stays. */
async function answerReload({ core, control }: AdminContext): Promise<AdminReply> {
  try {
    await control.reload();
  } catch (error) {
    // What is wrong was logged where it was seen.
    core.telemetry.log.warn("reload by an operator failed");
    return problem(error, (status) => (status === 500 ? UNUSABLE : status));
  }
  const hasUnusedRules = control.hasUnusedRules?.() ?? false;
  return json({ reloaded: true, version: core.policy.version, hasUnusedRules });
}

/** With a control plane, its switches are changed, and with them every node. */
async function answerSwitch(
  { core, control }: AdminContext,
  request: AdminRequest<unknown, { readonly reason: string | undefined }>,
  isOn: boolean,
): Promise<AdminReply> {
  const { id } = request.params;
  const { controlPlane } = control;
  if (controlPlane === undefined) return json(await verbs.switchRule(core, control, id, isOn));
  if ("follow" in controlPlane) {
    const seen = `this node follows ${controlPlane.follow}; switch rules there`;
    throw new ServerError("SLUICE_NOT_CONTROL_NODE", seen);
  }
  if (id !== undefined) verbs.mustExist(core, id);
  await verbs.switchEverywhere(controlPlane.switches, toChange(request), id, isOn);
  return json(toRulesView(core.policy));
}

/** `?rule=login` and `?keys=clear`, which shows keys as they are to those who may see them. */
async function answerTop(
  { core, control, clearKeys }: AdminContext,
  { query, message, caller }: AdminRequest<{ rule: string | undefined; keys: "hashed" | "clear" }>,
): Promise<AdminReply> {
  const showsKeys = clearKeys.shows(query.keys, message.headers, caller);
  const options = { rule: query.rule, showsKeys };
  const report = await (control.top?.(options) ?? core.telemetry.top(options));
  return json({ version: core.policy.version, ...report });
}

/** The same, and filters. */
async function answerSamples(
  { fleet, clearKeys }: AdminContext,
  { query, message, caller }: AdminRequest<SamplesQuery & { keys: "hashed" | "clear" }>,
): Promise<AdminReply> {
  const { keys: asked, ...rest } = query;
  const showsKeys = clearKeys.shows(asked, message.headers, caller);
  const { items, coverage } = await fleet.latest({ ...rest, showsKeys });
  return json({ items, nodes: coverage });
}

function toStats({ policy, blindPolicy, store }: Core): Record<string, unknown> {
  return {
    version: policy.version,
    uptimeMs: Math.round(readMs()),
    memory: process.memoryUsage(),
    store: "stats" in store ? store.stats : null,
    policy: policy.stats,
    blindPolicy: blindPolicy?.stats ?? null,
  };
}
