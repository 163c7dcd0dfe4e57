// Routes by which operators correct quotas: top-ups and adjustments. Each is an entry of the ledger and one of the audit
// log, and sent twice with the same Idempotency-Key it is made once.

import { createHash } from "node:crypto";
import { object, optional, required, type Shape, wholeNumber } from "sluice/shapes";
import { ServerError } from "../../../base/errors.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import { reason, timeMs } from "../../../control/entities/entity-shapes.js";
import { tenantProfileOf } from "../../../control/state/policy-inputs.js";
import type { Corrected } from "../../../ledger/operations/operator.js";
import { json } from "../../replies/admin-reply.js";
import { ledgerAnswers } from "../../replies/ledger-replies.js";
import { toChange } from "../../request/change-request.js";
import { type AdminContext, type AdminRequest, controlRoute, type Route } from "../../route.js";
import { findDurableCounter } from "./durable-counter.js";
import { toSubject, wallMsOf } from "./ledger-routes.js";

const UNITS_MAX = 1_000_000_000_000;

interface CorrectionInput {
  readonly units: number;
  readonly expiresAtMs?: number | undefined;
  readonly reason: string;
}

type Verb = "grant" | "adjust";

/** The routes that correct quotas. */
export const correctionRoutes: readonly Route[] = [
  correcting("grant", {
    path: "/v1/quotas/{tenant}/{meter}/grants",
    summary: "Grants a tenant units on top of its quota, until they expire or the period ends.",
    input: object({
      units: required(wholeNumber({ min: 1, max: UNITS_MAX }), "How many."),
      expiresAtMs: optional(timeMs, "In Unix milliseconds. Default: the end of the period."),
      reason,
    }),
  }),
  correcting("adjust", {
    path: "/v1/quotas/{tenant}/{meter}/adjustments",
    summary: "Adds units to a tenant's balance or subtracts some; the balance may fall below zero.",
    input: object({
      units: required(wholeNumber({ min: -UNITS_MAX, max: UNITS_MAX }), "Below 0 takes units."),
      reason,
    }),
  }),
];

function correcting(
  verb: Verb,
  declared: {
    readonly path: string;
    readonly summary: string;
    readonly input: Shape<CorrectionInput>;
  },
): Route {
  return controlRoute<unknown, CorrectionInput>({
    method: "POST",
    role: "operator",
    ...declared,
    reply: ledgerAnswers.correction,
    handle: (plane, request, context) => correct(verb, { plane, request, context }),
  });
}

interface Asked {
  readonly plane: ControlPlane;
  readonly request: AdminRequest<unknown, CorrectionInput>;
  readonly context: AdminContext;
}

async function correct(verb: Verb, asked: Asked) {
  const { plane, request, context } = asked;
  const { tenant, meter } = request.params as { tenant: string; meter: string };
  const { units, expiresAtMs } = request.input;
  // What is wrong with it has to be known before something is done that would then not be in the log.
  const change = toChange(request);
  const corrected = await plane.correct(verb, {
    meter,
    key: toSubject(tenant),
    amount: units,
    expiresAtMs,
    actor: change.actor,
    reason: change.reason,
    idempotencyKey: toKey(request, change.id),
    counter: counterOf(context, { tenant, meter }),
    nowMs: wallMsOf(context.core),
  });
  const answer = { tenant, meter, units, ...corrected };
  await record(verb, { ...asked, answer: { ...answer, expiresAtMs } });
  return json(answer);
}

/** The quota that holds for the tenant today. */
function counterOf(
  { core, control }: AdminContext,
  { tenant, meter }: { readonly tenant: string; readonly meter: string },
) {
  const { controlState } = control;
  const profile = controlState === undefined ? undefined : tenantProfileOf(controlState, tenant);
  return findDurableCounter(core.policy.rules, { meter, tenant, profile, nowMs: wallMsOf(core) });
}

/**
 * The key under which the ledger knows the correction: of the caller and what it sent, but not of the units, so that
 * the same key with other units is a conflict.
 */
function toKey({ caller, message }: AdminRequest, otherwise: string): string {
  const key = message.headers["idempotency-key"];
  if (typeof key !== "string") return otherwise;
  const content = JSON.stringify([caller.tokenId ?? caller.name, key]);
  return createHash("sha256").update(content).digest("base64url");
}

/** The audit log has one entry for a correction, however often it is sent. */
async function record(
  verb: Verb,
  {
    plane,
    request,
    answer,
  }: Asked & { readonly answer: Corrected & Readonly<Record<string, unknown>> },
): Promise<void> {
  const change = toChange(request);
  const { accountId, sequence } = answer;
  const id = `${verb}:${accountId}:${sequence}`;
  const { tenant, meter } = request.params as { tenant: string; meter: string };
  const act = {
    action: verb,
    kind: "quota",
    id: `${meter} ${toSubject(tenant)}`,
    details: { ...answer },
  } as const;
  try {
    await plane.record({ ...change, id }, act);
  } catch (cause) {
    if (!(cause instanceof ServerError) || cause.code !== "SLUICE_DATABASE_UNAVAILABLE")
      throw cause;
    const seen = `the units are in the ledger, but the audit log could not be written; send it again with the same Idempotency-Key`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}
