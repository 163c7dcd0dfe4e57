// Explains why a service can't start: the problems of its files, each with its place, or which port is taken and
// how to choose another one.

import { RulesError } from "sluice/rules";
import { ServerError } from "../base/errors.js";
import type { ListenAddress } from "../base/http/listen.js";
import type { Config } from "../config/config.js";
import { ConfigError } from "../config/problems.js";
import type { Terminal } from "./terminal/terminal.js";
import { safe } from "./text/colours.js";
import { formatProblems } from "./text/rules.js";

/** The lines about an error in files; undefined if it is another kind of error. */
export function describeInvalidFiles(
  error: unknown,
  config: Config | undefined,
): string[] | undefined {
  if (error instanceof ConfigError) {
    return error.problems.map(({ place, message }) => (place ? `${place}: ${message}` : message));
  }
  if (error instanceof RulesError) return formatProblems(rulesFileOf(config), error.problems);
  if (error instanceof ServerError && error.code === "SLUICE_ENVOY_CONFIG_INVALID") {
    return toLines(error.message);
  }
  if (error instanceof ServerError || isSluiceError(error)) return [(error as Error).message];
  return undefined;
}

/** With several problems, the first line has only their number. */
function toLines(message: string): string[] {
  const [first, ...others] = message.split("\n");
  return others.length === 0 ? [first] : others.map((line) => line.trim());
}

function rulesFileOf(config: Config | undefined): string {
  if (config === undefined) return "rules";
  return "file" in config.rules ? config.rules.file : (config.file ?? "rules");
}

function isSluiceError(error: unknown): boolean {
  return error instanceof Error && error.name === "SluiceError";
}

/**
 * The line about an address that can't be listened on; undefined if it is another error.
 *
 * @param started - How the service was started: `npm start`, `sluice serve --config sluice.yaml`, and its environment.
 */
export function describePortTaken(
  error: unknown,
  config: Config,
  { command, env }: { readonly command: string; readonly env: Terminal["env"] },
): string | undefined {
  const { code, port, address } = rootOf(error);
  const reason = code === undefined ? undefined : REASONS[code];
  if (reason === undefined || port === undefined) return undefined;
  const listener = listenersOf(config).find(({ listen }) => listen?.port === port);
  const name = listener === undefined ? "" : ` for ${listener.name}`;
  const line = `port ${port}${name} ${reason} (${address ?? "any address"})`;
  if (listener === undefined) return line;
  const other = toAddress(address ?? listener.listen?.host ?? "127.0.0.1", port + 1);
  // What was set for other listeners is set again: without it their ports may be in use.
  const settings = listenersOf(config).flatMap(({ variable }) => {
    const value = variable === listener.variable ? other : env[variable];
    return value === undefined ? [] : [`${variable}=${safe(value)}`];
  });
  return `${line}; to use another one: ${settings.join(" ")} ${command}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use",
  EACCES: "can't be opened by this user",
  EADDRNOTAVAIL: "is on an address that this machine does not have",
};

interface ListenError {
  readonly code?: string;
  readonly port?: number;
  readonly address?: string;
  readonly cause?: unknown;
}

/** A system error may be the cause of one of ours. */
function rootOf(error: unknown): ListenError {
  const outer = (error ?? {}) as ListenError;
  const inner = (outer.cause ?? {}) as ListenError;
  return [inner, outer].find(({ port }) => port !== undefined) ?? {};
}

interface ConfiguredListener {
  readonly name: string;
  readonly variable: string;
  readonly listen: ListenAddress | undefined;
}

function listenersOf({ gateway, decision, envoy, admin }: Config): readonly ConfiguredListener[] {
  return [
    { name: "the gateway", variable: "SLUICE_GATEWAY_LISTEN", listen: gateway?.listen },
    { name: "the decision API", variable: "SLUICE_DECISION_LISTEN", listen: decision?.listen },
    { name: "Envoy", variable: "SLUICE_ENVOY_LISTEN", listen: envoy?.listen },
    { name: "Envoy over HTTP", variable: "SLUICE_ENVOY_HTTP", listen: envoy?.http },
    { name: "admin and metrics", variable: "SLUICE_ADMIN_LISTEN", listen: admin.listen },
  ];
}

function toAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
