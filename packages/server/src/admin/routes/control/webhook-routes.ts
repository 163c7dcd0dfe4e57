// Routes of webhook deliveries: what is on its way to which receiver, what was given up, and sending it again.

import { anyString, choice, object, optional } from "sluice/shapes";
import { ServerError, show } from "../../../base/errors.js";
import {
  DELIVERY_STATES,
  type Deliveries,
  type Delivery,
} from "../../../ledger/webhooks/deliveries.js";
import { json } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange, toKeyedChange } from "../../request/change-request.js";
import { paging, toPage } from "../../request/paging.js";
import { controlRoute, type Route } from "../../route.js";

/** The routes of webhook deliveries. */
export const webhookRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path: "/v1/webhook-deliveries",
    role: "viewer",
    summary: "Deliveries of events of quotas to webhooks, the latest first.",
    query: object({
      ...paging,
      state: optional(choice(DELIVERY_STATES), "Only deliveries in this state."),
      webhook: optional(anyString(64), "Only deliveries to the webhook of this name."),
      event: optional(anyString(300), "Only deliveries of this event."),
    }),
    reply: controlAnswers.webhookDeliveries,
    handle: async ({ deliveries }, { query: { after, limit, state, webhook, event } }) => {
      const page = { state, webhook, eventId: event, after: readCursor(after), limit: limit + 1 };
      const found = await deliveries.list(page);
      return json(toPage(found.map(toView), limit, toCursor));
    },
  }),
  controlRoute({
    method: "POST",
    path: "/v1/webhook-deliveries/{id}/retry",
    role: "operator",
    summary: "Sends an event to a webhook again, now, whatever became of it before.",
    input: object({ reason: optional(anyString(1_000, 0), "Why, for the audit log.") }),
    reply: controlAnswers.webhookDelivery,
    handle: async (plane, request, { actsOnce }) => {
      const { id = "" } = request.params;
      const change = toChange(request);
      const keyed = toKeyedChange(request);
      // The deliverer's clock, not that of decisions, which never goes back: it might be due only later.
      const act = () => retry(plane.deliveries, id, plane.now());
      const done = await (keyed === undefined ? act() : actsOnce.do(keyed, plane.keyedActs, act));
      if (keyed !== undefined) await plane.keyedActs.finish(keyed, done);
      const { before, delivery } = done;
      const details = { webhook: delivery.webhook, eventId: delivery.eventId, state: before };
      await plane.record(change, { action: "retry", kind: "webhook-delivery", id, details });
      return json(delivery);
    },
  }),
];

/** What is done: the delivery as it is now, and the state that it was in before. */
async function retry(deliveries: Deliveries, id: string, nowMs: number) {
  const before = await deliveries.get(id);
  const delivery = before && (await deliveries.retry(id, nowMs));
  if (delivery === undefined)
    throw new ServerError("SLUICE_NOT_FOUND", `there is no webhook delivery ${show(id)}`);
  return { before: before?.state, delivery: toView(delivery) };
}

/** JSON has null where a value is absent. */
function toView(delivery: Delivery) {
  const { nextAttemptAtMs, endedAtMs, lastStatus, lastError } = delivery;
  return {
    ...delivery,
    nextAttemptAtMs: nextAttemptAtMs ?? null,
    endedAtMs: endedAtMs ?? null,
    lastStatus: lastStatus ?? null,
    lastError: lastError ?? null,
  };
}

function toCursor({ createdAtMs, id }: Pick<Delivery, "createdAtMs" | "id">): string {
  return `${createdAtMs}.${id}`;
}

function readCursor(after: string | undefined): Pick<Delivery, "createdAtMs" | "id"> | undefined {
  if (after === undefined) return undefined;
  const [, ms, id] = /^(\d{1,16})\.([\w-]{1,64})$/.exec(after) ?? [];
  if (ms === undefined || id === undefined)
    throw new ServerError(
      "SLUICE_REQUEST_INVALID",
      `after must be next of a page, got ${show(after)}`,
    );
  return { createdAtMs: Number(ms), id };
}
