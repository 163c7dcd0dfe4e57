// `sluice webhooks`: what is on its way to the receivers of events, and sending it again.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { safe } from "../../text/colours.js";
import type { CommandParts } from "../command-parts.js";
import {
  addVerb,
  encode,
  formatTime,
  given,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  toListPath,
} from "./control-verb.js";

interface WebhookFlags extends ListFlags {
  readonly state?: string;
  readonly webhook?: string;
  readonly event?: string;
}

type Delivery = ReplyOf<"webhookDeliveries">["items"][number];

/** Adds `webhooks`. */
export function addWebhookCommands(program: Command, parts: CommandParts): void {
  const webhooks = program
    .command("webhooks")
    .description("deliveries of quota events to webhooks");
  addVerb<WebhookFlags>(webhooks, parts, {
    usage: "list",
    description: "list deliveries, the latest first",
    options: [
      ["--state <state>", "only those that are pending, delivered or failed"],
      ["--webhook <name>", "only those to this webhook"],
      ["--event <id>", "only those of this event"],
      ...LIST_OPTIONS,
    ],
    examples: ["webhooks list --state failed", "webhooks list --webhook billing --limit 20"],
    run: async (asking) => {
      const { state, webhook, event } = asking.flags;
      const filters = { state, webhook, event };
      const path = toListPath("/v1/webhook-deliveries", asking.flags, filters);
      printPage(asking, await asking.client.get("webhookDeliveries", path), {
        head: ["delivery", "webhook", "about", "since", "state", "attempts", "next", "last answer"],
        toRow,
        none: "no deliveries",
      });
    },
  });
  addVerb(webhooks, parts, {
    usage: "retry <id>",
    description: "send an event to a webhook again, now",
    about:
      "Any delivery can be sent again. It has the same event id, by which receivers know an event that they have had.",
    isChange: true,
    examples: ["webhooks retry pQ3rT9wLxV0aB7cD5eF1gH --reason 'the receiver is back'"],
    run: async ({ client, args: [id = ""], flags, print }) => {
      const path = `/v1/webhook-deliveries/${encode(id)}/retry`;
      const body = given({ reason: flags.reason });
      const answer = await client.send("webhookDelivery", { method: "POST", path, body });
      print(answer, () => [`${safe(id)}: is sent to ${safe(answer.webhook)} again`]);
    },
  });
}

function toRow(delivery: Delivery): string[] {
  const { lastError, lastStatus, nextAttemptAtMs } = delivery;
  return [
    safe(delivery.id),
    safe(delivery.webhook),
    safe(`${delivery.sharePercent}% of ${delivery.meter}`),
    formatTime(delivery.createdAtMs),
    delivery.state,
    String(delivery.attempts),
    formatTime(nextAttemptAtMs ?? undefined, "-"),
    safe(lastError ?? (lastStatus === null ? "-" : String(lastStatus)), 120),
  ];
}
