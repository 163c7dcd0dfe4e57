// `sluice switch`: the kill switch of a rule, or of all rules, on every node.

import type { Command } from "commander";
import { usageError } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { addVerb, type CommandParts, edit, encode, isMissing, printPage } from "./control-verb.js";

interface Switch {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
}

const STATES = ["on", "off", "deny"];

/** Adds `switch`. */
export function addSwitchCommand(program: Command, parts: CommandParts): void {
  addVerb<{ all?: boolean }>(program, parts, {
    usage: "switch [rule] [state]",
    description: "switch a rule on or off on every node, or make it deny; without arguments, list",
    isChange: true,
    options: [["--all", "all rules, instead of one"]],
    about:
      "off lets requests pass the rule uncounted; deny refuses every request that matches it; on ends both.",
    examples: [
      "switch login off --reason 'a bad release'",
      "switch --all deny --reason 'an attack'",
      "switch login on",
      "switch",
    ],
    run: async (asking) => {
      const { client, args, flags, print } = asking;
      const [rule, state] = flags.all === true ? ["*", args[0]] : args;
      if (rule === undefined) {
        const page = await client.get("switches", "/v1/switches");
        printPage(asking, page, {
          head: ["rule", "state", "reason"],
          toRow: (each: Switch) => [nameOf(each.id), each.state, safe(each.reason)],
          none: "every rule is on",
        });
        return;
      }
      if (state === undefined || !STATES.includes(state))
        throw usageError(`say on, off or deny, got ${JSON.stringify(state ?? "")}`);
      const path = `/v1/switches/${encode(rule)}`;
      if (state !== "on") {
        const { reason = `switched to ${state} with sluice switch` } = flags;
        const answer = await edit(client, "switch", path, () => ({ state, reason }));
        print(answer, () => [`${nameOf(rule)}: ${state} on every node`]);
        return;
      }
      const body = flags.reason === undefined ? {} : { reason: flags.reason };
      const request = { method: "DELETE", path, body } as const;
      const answer = await client.send("removed", request).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
        return { id: rule, removed: false };
      });
      print(answer, () => [`${nameOf(rule)}: on${answer.removed ? "" : ", as it was"}`]);
    },
  });
}

function nameOf(rule: string): string {
  return rule === "*" ? "all rules" : safe(rule);
}
