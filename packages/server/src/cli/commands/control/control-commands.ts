// All verbs of the control plane.

import type { Command } from "commander";
import type { CommandParts } from "../command-parts.js";
import { addApiKeyCommands } from "./api-key-commands.js";
import { addAuditCommands } from "./audit-commands.js";
import { addBlockCommands } from "./block-commands.js";
import { addNodeCommands } from "./node-commands.js";
import { addOverrideCommands } from "./override-commands.js";
import { addPlanCommands } from "./plan-commands.js";
import { addSwitchCommand } from "./switch-command.js";
import { addTenantCommands } from "./tenant-commands.js";
import { addTokenCommands } from "./token-commands.js";
import { addWebhookCommands } from "./webhook-commands.js";

/** Adds the verbs of the control plane, those of `rules` apart. */
export function addControlCommands(program: Command, parts: CommandParts): void {
  addPlanCommands(program, parts);
  addTenantCommands(program, parts);
  addApiKeyCommands(program, parts);
  addOverrideCommands(program, parts);
  addBlockCommands(program, parts);
  addSwitchCommand(program, parts);
  addTokenCommands(program, parts);
  addAuditCommands(program, parts);
  addNodeCommands(program, parts);
  addWebhookCommands(program, parts);
}
