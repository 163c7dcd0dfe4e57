// Which file adds which verbs. A file is loaded only if its verbs may be meant: most of the time in which the command starts
// goes into finding and compiling modules, and `sluice check` needs none of the service.

import type { Command } from "commander";
import type { CommandParts } from "./commands/command-parts.js";

/** Adds verbs to the command. */
export type AddVerbs = (program: Command, parts: CommandParts) => void;

/** The verbs of one file. */
export interface CommandGroup {
  readonly verbs: readonly string[];
  readonly load: () => Promise<AddVerbs>;
}

/** All verbs, in the order in which help lists them. */
export const commandGroups: readonly CommandGroup[] = [
  {
    verbs: ["serve"],
    load: async () => (await import("./commands/serve-command.js")).addServeCommand,
  },
  {
    verbs: ["init"],
    load: async () => (await import("./commands/init-command.js")).addInitCommand,
  },
  {
    verbs: ["demo"],
    load: async () => (await import("./commands/demo-command.js")).addDemoCommand,
  },
  {
    verbs: ["check", "peek", "explain"],
    load: async () => (await import("./commands/ask-commands.js")).addAskCommands,
  },
  {
    verbs: ["reset", "refund", "block", "unblock"],
    load: async () => (await import("./commands/key-commands.js")).addKeyCommands,
  },
  {
    verbs: ["escalations"],
    load: async () => (await import("./commands/escalations-command.js")).addEscalationsCommand,
  },
  {
    verbs: ["top"],
    load: async () => (await import("./commands/top-command.js")).addTopCommand,
  },
  {
    verbs: ["rules"],
    load: async () => (await import("./commands/rules-commands.js")).addRulesCommands,
  },
  {
    verbs: ["replay"],
    load: async () => (await import("./commands/logs/replay-command.js")).addReplayCommand,
  },
  {
    verbs: ["suggest"],
    load: async () => (await import("./commands/logs/suggest-command.js")).addSuggestCommand,
  },
  {
    verbs: ["reload"],
    load: async () => (await import("./commands/switch-commands.js")).addReloadCommand,
  },
  {
    verbs: [
      "plans",
      "tenants",
      "keys",
      "overrides",
      "blocks",
      "switch",
      "tokens",
      "audit",
      "nodes",
      "webhooks",
    ],
    load: async () => (await import("./commands/control/control-commands.js")).addControlCommands,
  },
  {
    verbs: ["regions"],
    load: async () => (await import("./commands/region-commands.js")).addRegionCommands,
  },
  {
    verbs: ["quota"],
    load: async () => (await import("./commands/ledger/quota-commands.js")).addQuotaCommands,
  },
  {
    verbs: ["ledger"],
    load: async () => (await import("./commands/ledger/ledger-commands.js")).addLedgerCommands,
  },
];

/** The groups that these arguments may mean: all of them for help, and for a verb that is not known. */
export function groupsFor([first]: readonly string[]): readonly CommandGroup[] {
  if (first === "-V" || first === "--version") return [];
  const named = commandGroups.filter(({ verbs }) => verbs.includes(first as string));
  return named.length > 0 ? named : commandGroups;
}
