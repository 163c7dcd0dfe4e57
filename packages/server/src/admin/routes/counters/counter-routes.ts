// The verbs that decide requests and that act on counters. Those that change a counter are in the audit log too.

import type { Shape } from "sluice/shapes";
import { ServerError } from "../../../base/errors.js";
import type { ChangeRequest } from "../../../control/changes/changes.js";
import type { Core } from "../../../core/core.js";
import { json } from "../../admin-reply.js";
import { randomSecret } from "../../auth/random.js";
import { toChange } from "../../change-request.js";
import { answers } from "../../reply-schemas.js";
import { type AdminContext, type AdminRequest, type Route, route } from "../../route.js";
import { type Input, inputs, type Verb } from "./counter-inputs.js";
import * as verbs from "./counter-verbs.js";

type DecidingVerb = "check" | "peek" | "explain";
type ActingVerb = Exclude<Verb, DecidingVerb>;

/** The routes of the verbs. */
export const counterRoutes: readonly Route[] = [
  deciding("check", "Decides a request, and charges it.", verbs.check),
  deciding("peek", "What check would answer; charges nothing.", verbs.peek),
  deciding("explain", "Which rules a request meets, and why.", verbs.explain),
  acting("reset", "Forgets what a key used under a rule. Blocks stay.", verbs.reset),
  acting("block", "Refuses every request of a key under a rule.", verbs.block),
  acting("unblock", "Ends a block.", verbs.unblock),
  acting("refund", "Grants a key units, at most what it used.", verbs.refund),
];

function deciding<V extends DecidingVerb>(
  verb: V,
  summary: string,
  run: (core: Core, input: Input<V>) => Promise<object>,
): Route {
  return route({
    method: "POST",
    path: `/v1/${verb}`,
    role: verb === "check" ? "operator" : "viewer",
    isRead: verb !== "check",
    summary,
    input: inputs[verb] as Shape<unknown> as Shape<Input<V>>,
    reply: answers[verb],
    handle: async ({ core }, { input }) => json(await run(core, input)),
  });
}

function acting<V extends ActingVerb>(
  verb: V,
  summary: string,
  run: (core: Core, input: Input<V>) => Promise<verbs.Acted>,
): Route {
  return route({
    method: "POST",
    path: `/v1/${verb}`,
    role: "operator",
    summary,
    input: inputs[verb] as Shape<unknown> as Shape<Input<V>>,
    reply: answers[verb],
    handle: async (context, request) => {
      // What is wrong with it has to be known before something is done that would then not be in the log.
      const change = toAct(request);
      const acted = await run(context.core, request.input);
      const { rule } = acted;
      // The key is not logged, as in no other line. The audit log has it.
      const line = { verb, rule, actor: request.caller.name };
      context.core.telemetry.log.info(line, "operator command");
      await record(verb, context, change, acted);
      return json(acted);
    },
  });
}

/** A verb acts however often it is sent, so each time has an entry of its own, whatever Idempotency-Key it has. */
function toAct(request: AdminRequest): ChangeRequest {
  return { ...toChange(request), id: randomSecret() };
}

/** Writes what was done into the audit log, on a node that has one. */
async function record(
  verb: ActingVerb,
  { control: { controlPlane } }: AdminContext,
  change: ChangeRequest,
  acted: verbs.Acted,
): Promise<void> {
  if (controlPlane === undefined || "follow" in controlPlane) return;
  const id = `${acted.rule} ${acted.key}`;
  const act = { action: verb, kind: "counter", id, details: { ...acted } } as const;
  try {
    await controlPlane.record(change, act);
  } catch (cause) {
    if (!(cause instanceof ServerError) || cause.code !== "SLUICE_DATABASE_UNAVAILABLE")
      throw cause;
    const seen = `the ${verb} was done, but the audit log could not be written`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}
