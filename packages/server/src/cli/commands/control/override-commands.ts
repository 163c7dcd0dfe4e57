// `sluice overrides`: other limits for one caller under one rule.

import type { Command } from "commander";
import { type AdminClient, NotFoundError } from "../../admin-client/admin-client.js";
import type { Terminal } from "../../terminal/terminal.js";
import { safe } from "../../text/colours.js";
import type { CommandParts } from "../command-parts.js";
import {
  addRemoval,
  addVerb,
  encode,
  formatTime,
  given,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  sayLimit,
  toEndMs,
  toLimit,
  toListPath,
} from "./control-verb.js";

interface AddFlags {
  readonly subject: string;
  readonly rule: string;
  readonly limit: string;
  readonly for?: string;
  readonly reason: string;
}

interface Override {
  readonly id: string;
  readonly subject: string;
  readonly rule: string;
  readonly limit: unknown;
  readonly endsAtMs?: number | undefined;
  readonly reason: string;
}

/** Adds `overrides`. */
export function addOverrideCommands(program: Command, parts: CommandParts): void {
  const overrides = program
    .command("overrides")
    .description("other limits for single callers, on every node");
  addVerb<ListFlags & { subject?: string }>(overrides, parts, {
    usage: "list",
    description: "list overrides",
    options: [["--subject <caller>", "only those of this caller: tenant:acme"], ...LIST_OPTIONS],
    examples: ["overrides list --subject tenant:acme"],
    run: async (asking) => {
      const { flags } = asking;
      const path = toListPath("/v1/overrides", flags, { subject: flags.subject });
      printPage(asking, await asking.client.get("overrides", path), {
        head: ["override", "for", "rule", "limit", "ends", "reason"],
        toRow,
        none: "there are no overrides",
      });
    },
  });
  addVerb<AddFlags>(overrides, parts, {
    usage: "add",
    description: "give a tenant, user or API key another limit under a rule",
    required: [
      ["--subject <caller>", "tenant:acme, user:42 or apiKey:ID"],
      ["--rule <id>", "the rule"],
      ["--limit <limit>", "a rate such as 500/minute, unlimited, or JSON as in a rule file"],
      ["--reason <text>", "why"],
    ],
    options: [["--for <duration>", "how long it holds: 2h, 30d or forever (default: forever)"]],
    examples: [
      "overrides add --subject tenant:acme --rule search --limit 500/minute --for 30d --reason launch",
    ],
    run: async ({ client, terminal, flags, print }) => {
      const { subject, rule, reason } = flags;
      const limit = toLimit("--limit", flags.limit);
      const body = given({ subject, rule, limit, endsAtMs: toEndMs("--for", flags.for), reason });
      const request = { method: "POST", path: "/v1/overrides", body } as const;
      const override = await client.send("override", request);
      await warnOfUnknown(client, terminal, subject);
      print(override, () => [`${safe(override.id)}: ${toRow(override).slice(1).join("  ")}`]);
    },
  });
  addRemoval(overrides, parts, {
    usage: "remove <override>",
    description: "end an override",
    examples: ["overrides remove 7Hq2mZpVw9Tb"],
    path: "/v1/overrides",
    done: "removed",
  });
}

/** It is not an error: requests may name a tenant that is not kept here, by a token or a header. */
async function warnOfUnknown(
  client: AdminClient,
  terminal: Terminal,
  subject: string,
): Promise<void> {
  const [, kind, id = ""] = /^(tenant|apiKey):(.+)$/s.exec(subject) ?? [];
  if (kind === undefined) return;
  try {
    if (kind === "tenant") await client.get("tenant", `/v1/tenants/${encode(id)}`);
    else await client.get("apiKey", `/v1/api-keys/${encode(id)}`);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const only = kind === "tenant" ? "only for requests that name it in another way" : "for no key";
    terminal.writeError(`warning: ${error.message}; the override holds ${only}\n`);
  }
}

function toRow({ id, subject, rule, limit, endsAtMs, reason }: Override): string[] {
  return [safe(id), safe(subject), safe(rule), sayLimit(limit), formatTime(endsAtMs), safe(reason)];
}
