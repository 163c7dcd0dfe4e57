// `sluice demo`, which is also `npm start`: the whole service with nothing installed or configured, in
// front of an upstream of its own.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import type { Config } from "../../config/config.js";
import { parseConfig } from "../../config/load.js";
import { runDemo } from "../demo/demo.js";
import {
  DEMO_FURTHER_RULES,
  DEMO_RULES,
  type DemoFiles,
  demoConfiguration,
} from "../demo/demo-configuration.js";
import { type DemoUpstream, startUpstream } from "../demo/demo-upstream.js";
import { CommandError, EXIT } from "../exit.js";
import { describeInvalidFiles, describePortTaken } from "../failures.js";
import type { Terminal } from "../terminal/terminal.js";
import type { CommandParts } from "./command-parts.js";

/** Adds the verb. */
export function addDemoCommand(program: Command, { terminal, finish }: CommandParts): void {
  program
    .command("demo")
    .description("run a gateway with sample rules in front of a built-in upstream")
    .option("--print-config", "print its configuration instead, as a start for your own")
    .option("--no-traffic", "send no requests of its own")
    .addHelpText("after", HELP)
    .action(async ({ printConfig, traffic }: { printConfig?: boolean; traffic: boolean }) => {
      if (printConfig) terminal.write(demoConfiguration(UPSTREAM_URL));
      else await demo(terminal, traffic);
      finish(EXIT.ok);
    });
}

/** What a printed configuration names: your own API goes there. */
const UPSTREAM_URL = "http://127.0.0.1:3000";

const HELP = `
Gateway on 127.0.0.1:8080, dashboard and metrics on 127.0.0.1:9090. Ctrl-C ends it. The demo sends up to 50 requests a
second to itself, so that the dashboard has something to show.

Examples:
  $ sluice demo
  $ SLUICE_GATEWAY_LISTEN=127.0.0.1:8081 SLUICE_ADMIN_LISTEN=127.0.0.1:9091 sluice demo
  $ sluice demo --print-config > sluice.yaml`;

async function demo(terminal: Terminal, hasTraffic: boolean): Promise<void> {
  const upstream = await startUpstream();
  const folder = await mkdtemp(join(tmpdir(), "sluice-demo-"));
  try {
    const files = { rules: join(folder, "rules.yaml"), database: join(folder, "sluice.db") };
    await writeFile(files.rules, DEMO_RULES + DEMO_FURTHER_RULES);
    const config = configure(upstream, files, terminal);
    await runDemo(config, terminal, wordsOf(terminal), hasTraffic).catch((error: unknown) => {
      throw toFailure(error, config, terminal);
    });
  } finally {
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function configure({ url }: DemoUpstream, files: DemoFiles, { env }: Terminal): Config {
  try {
    return parseConfig(demoConfiguration(url, files), { env });
  } catch (error) {
    // Its text is ours: what can be wrong came from the environment.
    const lines = describeInvalidFiles(error, undefined);
    throw lines === undefined ? error : new CommandError(EXIT.usage, lines.join("\n"));
  }
}

function toFailure(error: unknown, config: Config, terminal: Terminal): unknown {
  const line =
    describePortTaken(error, config, { command: wordsOf(terminal).again, env: terminal.env }) ??
    describeInvalidFiles(error, config)?.join("\n");
  return line === undefined ? error : new CommandError(EXIT.no, line);
}

/** How to call the command, and how to start the demo again: npm finds it where a shell does not. */
function wordsOf({ env }: Terminal): { readonly sluice: string; readonly again: string } {
  const sluice = env.npm_lifecycle_event === undefined ? "sluice" : "npx sluice";
  return { sluice, again: env.npm_lifecycle_event === "start" ? "npm start" : `${sluice} demo` };
}
