// `sluice switch`: the kill switch of a rule, or of all rules, on every node or on the one that is asked.

import type { Command } from "commander";
import { usageError } from "../../exit.js";
import { safe } from "../../text/colours.js";
import type { CommandParts } from "../command-parts.js";
import { addVerb, edit, encode, isMissing, printPage, type VerbRun } from "./control-verb.js";

interface Switch {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
}

interface SwitchFlags {
  readonly all?: boolean;
  readonly node?: boolean;
}

const PATH = "/v1/switches";
const NODE_PATH = "/v1/node/switches";
const STATES = ["on", "off", "deny"];

/** Adds `switch`. */
export function addSwitchCommand(program: Command, parts: CommandParts): void {
  addVerb<SwitchFlags>(program, parts, {
    usage: "switch [rule] [state]",
    description: "switch a rule on or off on every node, or make it deny; without arguments, list",
    isChange: true,
    options: [
      ["--all", "all rules, instead of one"],
      ["--node", "only on the node that is asked, even while the database is unavailable"],
    ],
    about:
      "off lets requests pass the rule uncounted; deny refuses every request that matches it; on ends both.",
    examples: [
      "switch login off --reason 'a bad release'",
      "switch --all deny --reason 'an attack'",
      "switch login on",
      "switch --all off --node --reason 'the database is unavailable'",
      "switch",
    ],
    run: async (asking) => {
      const { client, args, flags, print } = asking;
      const [rule, state] = flags.all === true ? ["*", args[0]] : args;
      if (rule === undefined) return list(asking);
      if (state === undefined || !STATES.includes(state))
        throw usageError(`say on, off or deny, got ${JSON.stringify(state ?? "")}`);
      const isHere = flags.node === true;
      const path = `${isHere ? NODE_PATH : PATH}/${encode(rule)}`;
      if (state !== "on") {
        const { reason = `switched to ${state} with sluice switch` } = flags;
        const body = { state, reason };
        const answer = isHere
          ? await client.send("nodeSwitch", { method: "PUT", path, body })
          : await edit(asking, "switch", path, () => body);
        print(answer, () => [`${nameOf(rule)}: ${state} on ${isHere ? "this" : "every"} node`]);
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

async function list(asking: VerbRun<SwitchFlags>): Promise<void> {
  const { client, flags } = asking;
  const head = ["rule", "state", "reason"];
  if (flags.node === true) {
    printPage(asking, await client.get("nodeSwitches", NODE_PATH), {
      head,
      toRow: ({ rule, state, reason }) => [nameOf(rule), state, safe(reason)],
      none: "this node has no switches of its own",
    });
    return;
  }
  printPage(asking, await client.get("switches", PATH), {
    head,
    toRow: (each: Switch) => [nameOf(each.id), each.state, safe(each.reason)],
    none: "every rule is on",
  });
}

function nameOf(rule: string): string {
  return rule === "*" ? "all rules" : safe(rule);
}
