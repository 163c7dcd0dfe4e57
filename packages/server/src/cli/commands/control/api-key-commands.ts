// `sluice keys`: API keys of tenants.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
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
  toEndMs,
  toListPath,
  toMs,
} from "./control-verb.js";

interface CreateFlags {
  readonly tenant: string;
  readonly name: string;
  readonly scope: readonly string[];
  readonly expires?: string;
}

type ApiKey = ReplyOf<"apiKey">;

/** Adds `keys`. */
export function addApiKeyCommands(program: Command, parts: CommandParts): void {
  const keys = program.command("keys").description("API keys of the control plane");
  addVerb<ListFlags & { tenant?: string }>(keys, parts, {
    usage: "list",
    description: "list API keys, without their secrets",
    options: [["--tenant <tenant>", "only keys of this tenant"], ...LIST_OPTIONS],
    examples: ["keys list --tenant acme"],
    run: async (asking) => {
      const { flags } = asking;
      const path = toListPath("/v1/api-keys", flags, { tenant: flags.tenant });
      printPage(asking, await asking.client.get("apiKeys", path), {
        head: ["key", "tenant", "name", "scopes", "hour last used", "expires", "replaced by"],
        toRow: ({ id, tenant, name, scopes, lastUsedAtMs, expiresAtMs, replacedBy }: ApiKey) => [
          safe(id),
          safe(tenant),
          safe(name),
          safe(scopes.join(",")),
          formatTime(lastUsedAtMs ?? undefined),
          formatTime(expiresAtMs),
          safe(replacedBy ?? ""),
        ],
        none: "there are no API keys",
      });
    },
  });
  addVerb<CreateFlags>(keys, parts, {
    usage: "create",
    description: "create an API key; its secret is printed once",
    isChange: true,
    required: [
      ["--tenant <tenant>", "whose key it is"],
      ["--name <name>", "for people"],
    ],
    options: [["--expires <duration>", "when it ends: 90d, or forever (default: forever)"]],
    repeated: [["--scope <scope>", "what it is for"]],
    examples: ["keys create --tenant acme --name web --scope read --expires 90d"],
    run: async ({ client, flags, print }) => {
      const { tenant, name, scope: scopes, reason } = flags;
      const expiresAtMs = toEndMs("--expires", flags.expires);
      const body = given({ tenant, name, scopes, expiresAtMs, reason });
      const key = await client.send("newApiKey", { method: "POST", path: "/v1/api-keys", body });
      print(key, () => toSecretLines(key));
    },
  });
  addVerb<{ overlap?: string }>(keys, parts, {
    usage: "rotate <key>",
    description: "create a key that replaces another, which works a while longer",
    isChange: true,
    options: [["--overlap <duration>", "how long the old key works (default: 1d)"]],
    examples: ["keys rotate 7Hq2mZpVw9Tb --overlap 7d"],
    run: async ({ client, args: [id], flags, print }) => {
      const overlapMs = flags.overlap === undefined ? undefined : toMs("--overlap", flags.overlap);
      const body = given({ overlapMs, reason: flags.reason });
      const path = `/v1/api-keys/${encode(id)}/rotate`;
      const key = await client.send("newApiKey", { method: "POST", path, body });
      print(key, () => toSecretLines(key));
    },
  });
  addRemoval(keys, parts, {
    usage: "revoke <key>",
    description: "end a key: every node refuses it within 2 seconds",
    examples: ["keys revoke 7Hq2mZpVw9Tb --reason leaked"],
    path: "/v1/api-keys",
    done: "revoked",
  });
}

/** What is printed of something whose secret is shown once. */
export function toSecretLines({ id, secret }: { readonly id: string; readonly secret: string }) {
  return [safe(secret, 200), `id ${safe(id)}; the secret is not shown again`];
}
