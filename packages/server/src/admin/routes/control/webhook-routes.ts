// Routes of webhook deliveries: what is on its way to which receiver, what was given up, and sending it again.

import { anyString, choice, object, optional } from "sluice/shapes";
import { ServerError, show } from "../../../base/errors.js";
import { DELIVERY_STATES, type Delivery } from "../../../ledger/webhooks/deliveries.js";
import { json } from "../../admin-reply.js";
import { randomSecret } from "../../auth/random.js";
import { toChange } from "../../change-request.js";
import { controlAnswers } from "../../control-replies.js";
import { paging, toPage } from "../../paging.js";
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
    handle: async (plane, request, { core: { clock } }) => {
      const { id = "" } = request.params;
      // It acts however often it is sent, so each time has an entry of its own.
      const change = { ...toChange(request), id: randomSecret() };
      const before = await plane.deliveries.get(id);
      const nowMs = clock.wall?.() ?? clock.now();
      const delivery = before && (await plane.deliveries.retry(id, nowMs));
      if (delivery === undefined)
        throw new ServerError("SLUICE_NOT_FOUND", `there is no webhook delivery ${show(id)}`);
      const { webhook, eventId } = delivery;
      const details = { webhook, eventId, state: before?.state };
      await plane.record(change, { action: "retry", kind: "webhook-delivery", id, details });
      return json(toView(delivery));
    },
  }),
];

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
