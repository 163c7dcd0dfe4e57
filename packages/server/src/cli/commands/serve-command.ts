// `sluice serve`: runs the service with a configuration file until a signal ends it. With --check, it only checks
// everything that could keep the service from starting.

import type { Command } from "commander";
import { memoryStore } from "sluice";
import type { KeyResolver } from "sluice/api-keys";
import { ServerError } from "../../base/errors.js";
import type { Config } from "../../config/config.js";
import { loadConfig } from "../../config/load.js";
import { createCore } from "../../core/create-core.js";
import { loadFiles } from "../../envoy/file/load.js";
import type { DescriptorConfig } from "../../envoy/file/parse.js";
import { prettyLog } from "../../telemetry/log/pretty-log.js";
import { runService } from "../../workers/run.js";
import { CommandError, EXIT, type ExitCode } from "../exit.js";
import { describeInvalidFiles, describePortTaken } from "../failures.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { count } from "../text/rules.js";
import { formatSummary, logSummary } from "../text/summary.js";
import type { CommandParts } from "./command-parts.js";
import { checkControl } from "./control-check.js";

interface Flags {
  readonly config?: string;
  readonly check?: boolean;
}

/** The file that is read unless one is named. */
const CONFIG_FILE = "sluice.yaml";
/** A store for checks only, as small as one can be. */
const CHECK_KEYS_MAX = 1_024;

/** Adds the verb. */
export function addServeCommand(program: Command, { terminal, finish }: CommandParts): void {
  program
    .command("serve")
    .description("run the service: gateway, decision API, forward-auth, Envoy")
    .option("-c, --config <file>", `the configuration (SLUICE_CONFIG, else ${CONFIG_FILE})`)
    .option("--check", "only validate the configuration, its rules and Envoy's files")
    .addHelpText("after", HELP)
    .action(async ({ config: flag, check }: Flags) => {
      const file = flag ?? (terminal.env.SLUICE_CONFIG || CONFIG_FILE);
      const run = check ? checkFile : serveFile;
      finish(await run(file, terminal));
    });
}

const HELP = `
Every value of the file can also be an environment variable: gateway.listen is
SLUICE_GATEWAY_LISTEN. SIGTERM and Ctrl-C drain, SIGHUP reads the files again.

Examples:
  $ sluice serve --config sluice.yaml
  $ sluice serve --check
  $ SLUICE_GATEWAY_LISTEN=127.0.0.1:8081 sluice serve`;

async function checkFile(file: string, terminal: Terminal): Promise<ExitCode> {
  const config = load(file, terminal);
  const store = memoryStore({ keysMax: CHECK_KEYS_MAX });
  try {
    // All that is made before a listener opens, with no connection to the store.
    const core = createCore(config, { store, homeStore: store, keyResolver: KNOWS_NO_KEY });
    const rules = count(core.policy.rules.rules.length, "rule");
    await core.close();
    const listeners = await describeListeners(config, terminal);
    const found = config.control && (await checkControl(config.control));
    const all = [...listeners, rules, ...(found === undefined ? [] : [found.role])];
    writeLine(terminal, `${file}: ok (${all.join(", ")})`);
    if (found?.warning !== undefined) terminal.writeError(`warning: ${found.warning}\n`);
    return EXIT.ok;
  } catch (error) {
    throw toFailure(error, config, terminal);
  } finally {
    await store.close();
  }
}

/** In place of the control plane's, which is not asked. */
const KNOWS_NO_KEY: KeyResolver = { resolve: () => undefined };

async function describeListeners(config: Config, terminal: Terminal): Promise<string[]> {
  const { gateway, decision, envoy, upstreams } = config;
  return [
    ...(gateway === undefined ? [] : ["gateway", count(upstreams.size, "upstream")]),
    ...(decision === undefined ? [] : ["decision API"]),
    ...(envoy === undefined ? [] : await describeEnvoy(envoy.files, terminal)),
    "admin",
  ];
}

/** Reads the files of Envoy too, and warns of what has no effect in them. */
async function describeEnvoy(files: readonly string[], terminal: Terminal): Promise<string[]> {
  const { domains, warnings } = await loadFiles(files);
  for (const warning of warnings) terminal.writeError(`${warning}\n`);
  const limits = domains.reduce((sum, { descriptors }) => sum + countLimits(descriptors), 0);
  return ["Envoy", count(domains.length, "domain"), count(limits, "Envoy limit")];
}

function countLimits(descriptors: readonly DescriptorConfig[]): number {
  return descriptors.reduce(
    (sum, { limit, descriptors: below }) =>
      sum + (limit === undefined ? 0 : 1) + countLimits(below),
    0,
  );
}

async function serveFile(file: string, terminal: Terminal): Promise<ExitCode> {
  const config = load(file, terminal);
  const { isTty, hasColour } = terminal;
  try {
    const code = await runService(config, {
      process: terminal.process,
      loadConfig: () => loadConfig(file, terminal.env),
      onFirstToken: (token) => printFirstToken(terminal, token),
      destination: isTty ? prettyLog(terminal, { hasColour }) : undefined,
      onStarted: (service) => {
        if (isTty) for (const line of formatSummary(service, file)) writeLine(terminal, line);
        else logSummary(service, file);
      },
    });
    return code === 0 ? EXIT.ok : EXIT.no;
  } catch (error) {
    const taken = describePortTaken(error, config, {
      command: `sluice serve --config ${file}`,
      env: terminal.env,
    });
    if (taken !== undefined) throw new CommandError(EXIT.no, taken);
    throw toFailure(error, config, terminal);
  }
}

/** Standard output only: the log may be kept and read by others. */
function printFirstToken(terminal: Terminal, token: string): void {
  writeLine(terminal, "First access token of this control plane (role admin), shown only now:");
  writeLine(terminal, `  ${token}`);
}

function load(file: string, terminal: Terminal): Config {
  try {
    return loadConfig(file, terminal.env);
  } catch (error) {
    throw isMissing(error) ? sayMissing(file) : toFailure(error, undefined, terminal, file);
  }
}

function isMissing(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return error instanceof ServerError && cause?.code === "ENOENT";
}

/** For an operator who starts it for the first time. */
function sayMissing(file: string): CommandError {
  const how = [
    `${file}: no such file. To start with one:`,
    "  sluice init                                writes a commented sluice.yaml and rules.yaml",
    "  sluice demo --print-config > sluice.yaml   writes the configuration of the demo",
    "  sluice serve --config FILE                 reads another file",
  ];
  return new CommandError(EXIT.no, how.join("\n"));
}

/** Prints every problem on a line of its own, and a summary in the last. */
function toFailure(
  error: unknown,
  config: Config | undefined,
  terminal: Terminal,
  file = config?.file ?? CONFIG_FILE,
): unknown {
  const lines = describeInvalidFiles(error, config);
  if (lines === undefined) return error;
  for (const line of lines) terminal.writeError(`${line}\n`);
  return new CommandError(EXIT.no, `${file} can't be used: ${count(lines.length, "problem")}`);
}
