// `sluice plans`: what tenants pay for.

import type { Command } from "commander";
import { safe } from "../../text/colours.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import {
  addRemoval,
  addVerb,
  edit,
  encode,
  given,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  sayLimit,
  toLimit,
  toListPath,
  withPairs,
} from "./control-verb.js";

interface PlanFlags {
  readonly tier?: string;
  readonly limit: readonly string[];
}

interface Plan {
  readonly id: string;
  readonly revision: number;
  readonly tier?: string | undefined;
  readonly limits?: Readonly<Record<string, unknown>> | undefined;
}

/** Adds `plans`. */
export function addPlanCommands(program: Command, parts: CommandParts): void {
  const plans = program.command("plans").description("plans of the control plane");
  addVerb<ListFlags>(plans, parts, {
    usage: "list",
    description: "list plans",
    options: LIST_OPTIONS,
    examples: ["plans list"],
    run: async (asking) => {
      const page = await asking.client.get("plans", toListPath("/v1/plans", asking.flags));
      printPage(asking, page, {
        head: ["plan", "tier", "limits"],
        toRow: (plan: Plan) => [safe(plan.id), safe(plan.tier ?? "-"), sayLimits(plan)],
        none: "there are no plans",
      });
    },
  });
  addVerb(plans, parts, {
    usage: "show <plan>",
    description: "show a plan",
    examples: ["plans show pro"],
    run: async ({ client, args: [id], print }) => {
      const plan = await client.get("plan", `/v1/plans/${encode(id)}`);
      print(plan, () => toLines(plan));
    },
  });
  addVerb<PlanFlags>(plans, parts, {
    usage: "set <plan>",
    description: "create a plan, or change only what the options say",
    isChange: true,
    options: [["--tier <name>", "the tier of rules that it stands for"]],
    repeated: [["--limit <rule=limit>", "a limit of its own: login=50/minute; login= removes it"]],
    about:
      "A limit is a rate, unlimited, or JSON as in a rule file. It applies to all tenants of the plan.",
    examples: [
      "plans set pro --tier gold",
      "plans set pro --limit login=50/minute --limit search=unlimited",
    ],
    run: async ({ client, terminal, args: [id], flags, print }) => {
      const plan = await edit(
        { client, terminal },
        "plan",
        `/v1/plans/${encode(id)}`,
        (current) => ({
          ...current,
          ...given({ tier: flags.tier, reason: flags.reason }),
          limits: withPairs(
            current.limits as Record<string, unknown> | undefined,
            "--limit",
            flags.limit,
            (limit) => toLimit("--limit", limit),
          ),
        }),
      );
      print(plan, () => toLines(plan));
    },
  });
  addRemoval(plans, parts, {
    usage: "remove <plan>",
    description: "remove a plan that no tenant is on",
    examples: ["plans remove pro"],
    path: "/v1/plans",
    done: "removed",
  });
}

function sayLimits({ limits = {} }: Plan): string {
  const said = Object.entries(limits).map(([rule, limit]) => `${safe(rule)}=${sayLimit(limit)}`);
  return said.length === 0 ? "-" : said.join(" ");
}

function toLines(plan: Plan): string[] {
  return formatTable([
    ["plan", safe(plan.id)],
    ["tier", safe(plan.tier ?? "-")],
    ["limits", sayLimits(plan)],
    ["revision", String(plan.revision)],
  ]);
}
