// `sluice tokens`: who may use the admin port, and in which role.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { safe } from "../../text/colours.js";
import type { CommandParts } from "../command-parts.js";
import { toSecretLines } from "./api-key-commands.js";
import { addRemoval, addVerb, formatTime, given, printPage, toEndMs } from "./control-verb.js";

/** Adds `tokens`. */
export function addTokenCommands(program: Command, parts: CommandParts): void {
  const tokens = program.command("tokens").description("access tokens of the admin port");
  addVerb(tokens, parts, {
    usage: "list",
    description: "list access tokens, without their secrets",
    examples: ["tokens list"],
    run: async (asking) => {
      printPage(asking, await asking.client.get("accessTokens", "/v1/access-tokens"), {
        head: ["token", "name", "role", "created", "expires"],
        toRow: ({ id, name, role, createdAtMs, expiresAtMs }: ReplyOf<"accessToken">) => [
          safe(id),
          safe(name),
          role,
          formatTime(createdAtMs),
          formatTime(expiresAtMs),
        ],
        none: "there are no access tokens",
      });
    },
  });
  addVerb<{ name: string; role: string; expires?: string }>(tokens, parts, {
    usage: "create",
    description: "create an access token; its secret is printed once",
    isChange: true,
    required: [
      ["--name <name>", "who holds it, for the audit log"],
      ["--role <role>", "viewer, operator, admin or node"],
    ],
    options: [["--expires <duration>", "when it ends: 90d, or forever (default: forever)"]],
    examples: ["tokens create --name ci --role admin --expires 90d"],
    run: async ({ client, flags: { name, role, expires, reason }, print }) => {
      const body = given({ name, role, expiresAtMs: toEndMs("--expires", expires), reason });
      const request = { method: "POST", path: "/v1/access-tokens", body } as const;
      const token = await client.send("newAccessToken", request);
      print(token, () => toSecretLines(token));
    },
  });
  addRemoval(tokens, parts, {
    usage: "revoke <token>",
    description: "end a token and its sessions; never the last one of an admin",
    examples: ["tokens revoke 7Hq2mZpVw9Tb"],
    path: "/v1/access-tokens",
    done: "revoked",
  });
}
