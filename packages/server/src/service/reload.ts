// Reload: the configuration and the rules are read again, and what can change while the service runs takes effect. One
// reload runs at a time.

import type { Config } from "../config/config.js";
import type { Listener } from "../core/core.js";
import type { ReloadableRules } from "../core/rules-in-force.js";
import type { ConfigInForce } from "./config-in-force.js";
import type { OtherProcesses } from "./other-processes.js";
import type { ServiceWebhooks } from "./service-webhooks.js";

/** What a reload reaches. */
export interface Reloaded {
  readonly config: ConfigInForce;
  readonly rules: ReloadableRules;
  /** The listeners of this process. */
  readonly listeners: readonly Listener[];
  readonly webhooks: ServiceWebhooks;
  readonly others: OtherProcesses | undefined;
}

/**
 * Reads the configuration and the rules again and lets them take effect, rules first, in this process and in the others.
 *
 * @throws What is wrong with the files; nothing has changed then. If a `caFile` of a webhook goes missing after the files
 * were checked, what the system says of it: webhooks stay as they were, and all else has taken effect in all processes.
 */
export async function reloadAll(reloaded: Reloaded): Promise<void> {
  const { config, rules, listeners, webhooks, others } = reloaded;
  const next = await readConfig(config, rules);
  await rules.reload(next.rules);
  await others?.haveRules();
  config.accept(next);
  await Promise.all(listeners.map((listener) => listener.reload?.()));
  const failure = await reloadWebhooks(webhooks, next);
  if (failure !== undefined) config.reportFailed(failure.error);
  await others?.reload(next);
  if (failure !== undefined) throw failure.error;
}

/** The configuration has been accepted, so a failure must not keep it from the other processes. */
async function reloadWebhooks(
  webhooks: ServiceWebhooks,
  next: Config,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await webhooks.reload(next);
    return undefined;
  } catch (error) {
    return { error };
  }
}

async function readConfig(config: ConfigInForce, rules: ReloadableRules): Promise<Config> {
  try {
    return await config.read();
  } catch (error) {
    // A configuration with faulty rules can't be used until they are fixed, so the rules are watched for that.
    rules.inspect();
    throw error;
  }
}

/**
 * Returns a function that runs `task`, once at a time. All calls during a run share the one run that follows it, since
 * they may be about changes that the present run has not seen.
 */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  const start = (): Promise<void> => {
    running = task().finally(() => {
      running = undefined;
    });
    return running;
  };
  const startNext = (): Promise<void> => {
    waiting = undefined;
    return start();
  };
  return () => {
    if (running === undefined) return start();
    waiting ??= running.then(startNext, startNext);
    return waiting;
  };
}
