// The options of every command that asks a running service: its address, and the access token for its admin port.

import type { Command } from "commander";
import { usageError } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";
import { type AdminAddress, AdminClient } from "./admin-client.js";

/** The default address of the admin port. */
export const ADMIN_URL = "http://127.0.0.1:9090";

/** What the options say. */
export interface AdminFlags {
  readonly admin?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** Adds `--admin`, `--token` and `--json` to a verb. */
export function addAdminOptions(command: Command): Command {
  return command
    .option("--admin <url>", `the admin port of the service (SLUICE_ADMIN, else ${ADMIN_URL})`)
    .option(
      "--token <token>",
      "its token; prefer SLUICE_ADMIN_TOKEN, which process lists don't show",
    )
    .option("--json", "print the answer as one line of JSON");
}

/**
 * A client for the service that is meant.
 *
 * @param answerMsMax - How long an answer may take, in milliseconds. Default 10,000.
 */
export function toClient(
  flags: AdminFlags,
  { env }: Pick<Terminal, "env">,
  answerMsMax?: number,
): AdminClient {
  const url = toUrl(flags.admin ?? (env.SLUICE_ADMIN || ADMIN_URL));
  return new AdminClient({ url, token: toToken(flags, env) }, answerMsMax);
}

function toUrl(text: string): URL {
  const address = text.includes("://") ? text : `http://${text}`;
  if (!/^https?:/i.test(address) || !URL.canParse(address) || isBareNumber(address)) {
    throw usageError(
      `--admin must be an address such as ${ADMIN_URL}, got ${JSON.stringify(text)}`,
    );
  }
  return new URL(address);
}

/** Whether the host is a number, such as a port alone: URLs read 9090 as the address 0.0.35.130. */
function isBareNumber(address: string): boolean {
  return /^https?:\/\/(?:\d+|0x[\da-f]*)(?:[:/?#]|$)/i.test(address);
}

function toToken({ token }: AdminFlags, env: Terminal["env"]): AdminAddress["token"] {
  const given = token ?? env.SLUICE_ADMIN_TOKEN;
  if (given === undefined || given === "") return undefined;
  // A line end in a header would be refused in words that name no option.
  if (!/^[\x21-\x7e]+$/.test(given)) throw usageError("the token has invalid characters");
  return given;
}
