// The demo at work: says where things are and what to try, shows decisions as they are made, and drains
// when it is ended.

import { every } from "../../base/clock.js";
import type { Config } from "../../config/config.js";
import { type Service, startService } from "../../service/service.js";
import { createTelemetry } from "../../telemetry/create-telemetry.js";
import { prettyLog } from "../../telemetry/log/pretty-log.js";
import type { DecidedRequest } from "../../telemetry/reported.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { coloursFor } from "../text/colours.js";
import { DecisionFeed } from "./decision-feed.js";
import { makeCustomers } from "./demo-customers.js";
import { formatChange, formatWelcome } from "./demo-text.js";
import { DEMO_NETWORK, type DemoTraffic, startTraffic } from "./demo-traffic.js";

/**
 * Runs the demo under a configuration until the user ends it.
 *
 * @param words - How the user can call the command: `sluice`, `npx sluice`.
 * @param hasTraffic - Whether the demo sends requests of its own.
 * @throws What `startService` throws.
 */
export async function runDemo(
  config: Config,
  terminal: Terminal,
  words: { readonly sluice: string },
  hasTraffic: boolean,
): Promise<void> {
  const { promise: ended, forget } = untilEnded(terminal);
  const colours = coloursFor(terminal);
  const print = (line: string) => writeLine(terminal, line);
  const feed = new DecisionFeed({ colours, writeLine: print, every });
  let traffic: DemoTraffic | undefined;
  try {
    const telemetry = listening(config, feed, terminal);
    const service = await startService(config, { telemetry });
    const { policy } = service.core;
    onChangedRules(telemetry, () => print(formatChange(policy.rules, colours)));
    const rules = "file" in config.rules ? config.rules.file : "";
    for (const line of formatWelcome({ ...placesOf(service), rules, ...words }, colours))
      print(line);
    if (hasTraffic) traffic = await startDemoTraffic(service);
    await ended;
    traffic?.close();
    print("Draining.");
    await service.drain();
    print("Stopped.");
  } finally {
    traffic?.close();
    forget();
    feed.close();
  }
}

/** Listens from now on: who ends it while it starts has ended it. */
function untilEnded(terminal: Terminal): { promise: Promise<void>; forget: () => void } {
  let forget = () => {};
  const promise = new Promise<void>((resolve) => {
    forget = terminal.onEnd(resolve);
  });
  return { promise, forget };
}

/** Telemetry whose decisions the feed sees, and whose log goes where errors do. */
function listening(config: Config, feed: DecisionFeed, terminal: Terminal): Telemetry {
  const errors = { write: (line: string) => terminal.writeError(line) };
  const destination = prettyLog(errors, terminal);
  const telemetry = createTelemetry(config.telemetry, { destination });
  const decided = telemetry.decided.bind(telemetry);
  telemetry.decided = (listener, decision, facts, ms) => {
    decided(listener, decision, facts, ms);
    if (isOwn(facts)) feed.addOwn(decision);
    else feed.add(decision, facts);
  };
  return telemetry;
}

/** Whether the demo sent it itself. */
function isOwn(request: DecidedRequest): boolean {
  return request.toFacts?.().ip?.startsWith(DEMO_NETWORK) === true;
}

/** The customers are there first, so that their keys are known. */
async function startDemoTraffic(service: Service): Promise<DemoTraffic> {
  const { gateway, admin } = placesOf(service);
  return startTraffic(gateway, await makeCustomers(admin));
}

/** Calls `task` whenever other rules have come into force. */
function onChangedRules(telemetry: Telemetry, task: () => void): void {
  const policyEvent = telemetry.policyEvent.bind(telemetry);
  telemetry.policyEvent = (event) => {
    policyEvent(event);
    if (event.kind === "replaced" && event.from !== event.to) task();
  };
}

function placesOf({ listeners }: Service): { gateway: string; admin: string } {
  const urlOf = (name: string) =>
    listeners.find((listener) => listener.name === name)?.url ?? "closed";
  return { gateway: urlOf("gateway"), admin: urlOf("admin") };
}
