// The verbs that decide requests and that act on counters. Those that change a counter are in the audit log too.

import type { Shape } from "sluice/shapes";
import { ServerError } from "../../../base/errors.js";
import type { ChangeRequest } from "../../../control/changes/changes.js";
import type { KeyedChange } from "../../../control/changes/keyed-acts.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import type { Core } from "../../../core/core.js";
import { json } from "../../replies/admin-reply.js";
import { answers } from "../../replies/reply-schemas.js";
import { toChange, toKeyedChange } from "../../request/change-request.js";
import { type AdminContext, type Route, route } from "../../route.js";
import { type CounterVerb, type Input, inputs } from "./counter-inputs.js";
import * as verbs from "./counter-verbs.js";

type DecidingVerb = "check" | "peek" | "explain";
type ActingVerb = Exclude<CounterVerb, DecidingVerb>;

/** The routes of the verbs. */
export const counterRoutes: readonly Route[] = [
  deciding("check", "Decides a request, and charges it.", verbs.check),
  deciding("peek", "What check would answer; charges nothing.", verbs.peek),
  deciding("explain", "Which rules a request meets, and why.", verbs.explain),
  route({
    method: "POST",
    path: "/v1/explain/nodes",
    role: "viewer",
    isRead: true,
    summary:
      "How a request stands on the followers of this control node that count in a store of their own.",
    input: inputs.explainNodes,
    reply: answers.standings,
    handle: async ({ core, fleet }, { input }) => {
      const { asked } = await verbs.toAsked(core, input.facts);
      const { coverage: nodes, ...standings } = await fleet.standings(asked);
      return json({ nodes, ...standings });
    },
  }),
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
  run: (core: Core, input: Input<V>, requestId?: string) => Promise<verbs.Acted>,
): Route {
  return route({
    method: "POST",
    path: `/v1/${verb}`,
    role: "operator",
    summary,
    input: inputs[verb] as Shape<unknown> as Shape<Input<V>>,
    reply: answers[verb],
    handle: async (context, request) => {
      const { core, actsOnce } = context;
      // What is wrong with it has to be known before something is done that would then not be in the log.
      const change = toChange(request);
      const keyed = toKeyedChange(request);
      const act = async () => {
        const acted = await run(core, request.input, keyed?.request);
        // The key is not logged, as in no other line. The audit log has it.
        const line = { verb, rule: acted.rule, actor: request.caller.name };
        core.telemetry.log.info(line, "operator command");
        return acted;
      };
      const plane = databaseOf(context);
      const mayRepeat =
        verb !== "refund" || core.policy.ruleOf(request.input.rule)?.durable !== undefined;
      const acted = await (keyed === undefined
        ? act()
        : actsOnce.do(keyed, plane?.keyedActs, act, { mayRepeat }));
      if (plane !== undefined) await record(plane, { verb, change, keyed, acted });
      return json(acted);
    },
  });
}

/** The control plane of a node that has its database. */
function databaseOf({ control: { controlPlane } }: AdminContext): ControlPlane | undefined {
  return controlPlane === undefined || "follow" in controlPlane ? undefined : controlPlane;
}

interface DoneAct {
  readonly verb: ActingVerb;
  readonly change: ChangeRequest;
  readonly keyed: KeyedChange | undefined;
  readonly acted: verbs.Acted;
}

/** Keeps the answer and writes what was done into the audit log, each once, however often it is called. */
async function record(plane: ControlPlane, { verb, change, keyed, acted }: DoneAct): Promise<void> {
  const id = `${acted.rule} ${acted.key}`;
  const act = { action: verb, kind: "counter", id, details: { ...acted } } as const;
  try {
    if (keyed !== undefined) await plane.keyedActs.finish(keyed, acted);
    await plane.record(change, act);
  } catch (cause) {
    if (!(cause instanceof ServerError) || cause.code !== "SLUICE_DATABASE_UNAVAILABLE")
      throw cause;
    const seen = `the ${verb} was done, but the audit log could not be written`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}
