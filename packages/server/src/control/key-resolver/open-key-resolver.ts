// The key resolver of a service whose configuration says `identity: { apiKeys: control }`.

import { afterAlive } from "../../base/clock.js";
import type { ApiKeysConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import type { ControlNode } from "../control-node.js";
import { ControlKeyResolver, lookUpByCatchingUp } from "./control-key-resolver.js";

/** How long the end of a node waits until the last uses of keys are stored. */
const FLUSH_MS_MAX = 2_000;

/** What a resolver needs of a node. */
export type ResolvingNode = Pick<
  ControlNode,
  "state" | "ageMs" | "catchUp" | "onChanged" | "storeUses" | "onClosing"
>;

/**
 * Resolves API keys by what a node knows, follows its changes, and stores when keys were used; undefined if that is not
 * configured.
 */
export function openKeyResolver(
  config: ApiKeysConfig | undefined,
  node: ResolvingNode,
  telemetry: Telemetry,
): ControlKeyResolver | undefined {
  if (config === undefined) return undefined;
  const resolver = new ControlKeyResolver({
    ...config,
    state: node.state,
    lookUp: lookUpByCatchingUp(node),
    onError: (error) => telemetry.problem("an API key can't be looked up", error),
    storeUses: (uses) => node.storeUses(uses),
    onUsesError: (error) => telemetry.problem("the last use of API keys can't be stored", error),
  });
  node.onChanged((kinds) => resolver.changed(kinds));
  node.onClosing(() => untilFlushed(resolver));
  return resolver;
}

function untilFlushed(resolver: ControlKeyResolver): Promise<void> {
  return new Promise((resolve) => {
    const cancel = afterAlive(FLUSH_MS_MAX, resolve);
    void resolver.flushUses().finally(() => {
      cancel();
      resolve();
    });
  });
}
