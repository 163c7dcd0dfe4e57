// `sluice tenants`: customers, each with its plan.

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
  toListPath,
  withPairs,
} from "./control-verb.js";

interface TenantFlags {
  readonly name?: string;
  readonly plan?: string;
  readonly timeZone?: string;
  readonly billingAnchor?: string;
  readonly status?: string;
  readonly attribute: readonly string[];
}

interface Tenant {
  readonly id: string;
  readonly revision: number;
  readonly name?: string | undefined;
  readonly plan?: string | undefined;
  readonly timeZone?: string | undefined;
  readonly billingAnchor?: number | string | undefined;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly status?: string | undefined;
}

/** Adds `tenants`. */
export function addTenantCommands(program: Command, parts: CommandParts): void {
  const tenants = program.command("tenants").description("tenants of the control plane");
  addVerb<ListFlags & { plan?: string }>(tenants, parts, {
    usage: "list",
    description: "list tenants",
    options: [["--plan <plan>", "only tenants on this plan"], ...LIST_OPTIONS],
    examples: ["tenants list", "tenants list --plan pro"],
    run: async (asking) => {
      const { flags } = asking;
      const path = toListPath("/v1/tenants", flags, { plan: flags.plan });
      printPage(asking, await asking.client.get("tenants", path), {
        head: ["tenant", "plan", "status", "time zone", "name"],
        toRow: ({ id, plan = "-", status = "", timeZone = "", name = "" }: Tenant) =>
          [id, plan, status, timeZone, name].map((cell) => safe(cell)),
        none: "there are no tenants",
      });
    },
  });
  addVerb(tenants, parts, {
    usage: "show <tenant>",
    description: "show a tenant",
    examples: ["tenants show acme"],
    run: async ({ client, args: [id], print }) => {
      const tenant = await client.get("tenant", `/v1/tenants/${encode(id)}`);
      print(tenant, () => toLines(tenant));
    },
  });
  addVerb<TenantFlags>(tenants, parts, {
    usage: "set <tenant>",
    description: "create a tenant, or change only what the options say",
    isChange: true,
    options: [
      ["--name <name>", "for people"],
      ["--plan <plan>", "its plan"],
      ["--time-zone <zone>", "where its days and months begin: Europe/Paris"],
      ["--billing-anchor <day>", "when its months begin: 1 to 31, or a date"],
      ["--status <status>", "active or suspended: requests of a suspended tenant are refused"],
    ],
    repeated: [["--attribute <name=value>", "an attribute of its requests; name= removes it"]],
    examples: [
      "tenants set acme --plan pro --time-zone Europe/Paris",
      "tenants set acme --status suspended",
    ],
    run: async ({ client, terminal, args: [id], flags, print }) => {
      const { name, plan, timeZone, billingAnchor: anchor, status, reason } = flags;
      const billingAnchor =
        anchor !== undefined && /^\d{1,2}$/.test(anchor) ? Number(anchor) : anchor;
      const tenant = await edit(
        { client, terminal },
        "tenant",
        `/v1/tenants/${encode(id)}`,
        (current) => ({
          ...current,
          ...given({ name, plan, timeZone, billingAnchor, status, reason }),
          attributes: withPairs(
            current.attributes as Record<string, unknown> | undefined,
            "--attribute",
            flags.attribute,
            (value) => value,
          ),
        }),
      );
      print(tenant, () => toLines(tenant));
    },
  });
  addRemoval(tenants, parts, {
    usage: "remove <tenant>",
    description: "remove a tenant that has no API keys",
    examples: ["tenants remove acme"],
    path: "/v1/tenants",
    done: "removed",
  });
}

function toLines(tenant: Tenant): string[] {
  const { attributes = {} } = tenant;
  const said = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  return formatTable([
    ["tenant", safe(tenant.id)],
    ["name", safe(tenant.name ?? "-")],
    ["plan", safe(tenant.plan ?? "-")],
    ["status", safe(tenant.status ?? "")],
    ["time zone", safe(tenant.timeZone ?? "")],
    ["billing anchor", safe(String(tenant.billingAnchor ?? ""))],
    ["attributes", said.length === 0 ? "-" : safe(said.join(" "), 500)],
    ["revision", String(tenant.revision)],
  ]);
}
