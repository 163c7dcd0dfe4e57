// `sluice quota`: the status of a tenant's durable quotas, top-ups and adjustments.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import type { AdminClient } from "../../admin-client/admin-client.js";
import { usageError } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { formatPeriod } from "../../text/period.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import {
  addVerb,
  encode,
  given,
  toEndMs,
  toListPath,
  type VerbRun,
} from "../control/control-verb.js";

interface ShowFlags {
  readonly meter?: string;
}

interface CorrectFlags {
  readonly meter: string;
  readonly units: string;
  readonly expires?: string;
  readonly idempotencyKey?: string;
  readonly reason: string;
}

type Quota = ReplyOf<"quotas">["items"][number];

const METER = ["--meter <rule>", "the id of the rule"] as const;
const REASON = ["--reason <text>", "why, for the ledger and the audit log"] as const;
const KEY = [
  "--idempotency-key <key>",
  "makes it happen once, however often it is sent (default: each time is another one)",
] as const;

/** Adds `quota`. */
export function addQuotaCommands(program: Command, parts: CommandParts): void {
  const quota = program.command("quota").description("durable quotas of a tenant");
  addVerb<ShowFlags>(quota, parts, {
    usage: "show <tenant>",
    description: "show what a tenant was granted, has used and has left in this period",
    options: [["--meter <rule>", "only that of this rule"]],
    about: "Meters that the tenant has not used in this period are not listed.",
    examples: ["quota show acme", "quota show acme --meter exports --json"],
    run: async ({ client, args: [tenant], flags, print }) => {
      const path = toListPath("/v1/quotas", {}, { tenant, meter: flags.meter });
      const answer = await client.get("quotas", path);
      if (answer.items.length === 0) await mustBeKnown(client, tenant);
      print(answer, () => toLines(answer));
    },
  });
  addVerb<CorrectFlags>(quota, parts, {
    usage: "grant <tenant>",
    description: "grant a tenant units on top of its quota",
    required: [METER, ["--units <count>", "how many"], REASON],
    options: [
      ["--expires <duration>", "90s, 10m, 2h or 30d from now (default: the period's end)"],
      KEY,
    ],
    examples: ['quota grant acme --meter exports --units 500 --expires 30d --reason "order 1234"'],
    run: async (asking) => {
      const units = toUnits(asking.flags.units, /^\+?\d{1,15}$/, "a whole number above 0");
      const expiresAtMs = toEndMs("--expires", asking.flags.expires);
      await correct(asking, "grants", { units, expiresAtMs });
    },
  });
  addVerb<CorrectFlags>(quota, parts, {
    usage: "adjust <tenant>",
    description: "add units to a tenant's balance or subtract some; it may fall below zero",
    required: [METER, ["--units <count>", "such as +50 or -50"], REASON],
    options: [KEY],
    examples: ['quota adjust acme --meter exports --units +50 --reason "counted twice"'],
    run: async (asking) => {
      const units = toUnits(asking.flags.units, /^[+-]?\d{1,15}$/, "a number such as +50 or -50");
      await correct(asking, "adjustments", { units });
    },
  });
}

/** A misspelt name must not look like a tenant without usage. Tenants that only the ledger knows are known too. */
async function mustBeKnown(client: AdminClient, tenant: string): Promise<void> {
  const path = toListPath("/v1/ledger/entries", { limit: "1" }, { tenant });
  const { items } = await client.get("ledgerEntries", path);
  if (items.length === 0) await client.get("tenant", `/v1/tenants/${encode(tenant)}`);
}

async function correct(
  { client, args: [tenant], flags, print }: VerbRun<CorrectFlags>,
  what: "grants" | "adjustments",
  input: { readonly units: number; readonly expiresAtMs?: number | undefined },
): Promise<void> {
  const { meter, reason, idempotencyKey } = flags;
  const answer = await client.send("correction", {
    method: "POST",
    path: `/v1/quotas/${encode(tenant)}/${encode(meter)}/${what}`,
    body: given({ ...input, reason }),
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  });
  print(answer, () => [toCorrectionLine(answer)]);
}

function toCorrectionLine(answer: ReplyOf<"correction">): string {
  const { tenant, meter, units, balance, sequence, isRepeated } = answer;
  const name = `${safe(tenant)} ${safe(meter)}`;
  const signed = units > 0 ? `+${units}` : String(units);
  const repeated = isRepeated ? " (made before, and not again)" : "";
  return `${name}: ${signed} units, ${balance} left (entry ${sequence})${repeated}`;
}

function toLines({ tenant, timeZone, items }: ReplyOf<"quotas">): string[] {
  if (items.length === 0) return [`${safe(tenant)} has used no durable quota in this period`];
  const head = ["meter", "granted", "used", "held", "left", "period", "runs out"];
  const aligns = ["left", "right", "right", "right", "right"] as const;
  const rows = items.map((item) => toRow(item, timeZone));
  return formatTable([head, ...rows], aligns);
}

function toRow(
  { meter, part, granted, used, held, balance, period, forecast }: Quota,
  timeZone: string,
) {
  return [
    part === 0 ? safe(meter) : `${safe(meter)} #${part + 1}`,
    String(granted),
    String(used),
    String(held.reserved + held.leased),
    String(balance),
    safe(formatPeriod(period, timeZone)),
    sayForecast(forecast, timeZone),
  ];
}

function sayForecast(forecast: Quota["forecast"], timeZone: string): string {
  if (forecast === null) return "-";
  if (forecast.day === null) return "not in this period";
  return `${safe(forecast.day)} ${safe(timeZone)}`;
}

function toUnits(text: string, form: RegExp, what: string): number {
  if (form.test(text) && Number(text) !== 0) return Number(text);
  throw usageError(`--units must be ${what}, got ${JSON.stringify(text)}`);
}
