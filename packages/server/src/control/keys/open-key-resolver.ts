// The key resolver of a service whose configuration says `identity: { apiKeys: control }`.

import type { ApiKeysConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import type { ControlNode } from "../control-node.js";
import { ControlKeyResolver, lookUpByCatchingUp } from "./control-key-resolver.js";
import type { LastUses } from "./key-uses.js";

/** Options of {@link openKeyResolver}. */
export interface KeyResolverOptions {
  readonly telemetry: Telemetry;
  /** Called with the hours in which keys were used, at most once a minute. */
  readonly onUses?: ((uses: LastUses) => void) | undefined;
}

/** Resolves API keys by what a node knows, and follows its changes; undefined if that is not configured. */
export function openKeyResolver(
  config: ApiKeysConfig | undefined,
  node: Pick<ControlNode, "state" | "ageMs" | "catchUp" | "onChanged">,
  { telemetry, onUses }: KeyResolverOptions,
): ControlKeyResolver | undefined {
  if (config === undefined) return undefined;
  const resolver = new ControlKeyResolver({
    ...config,
    state: node.state,
    lookUp: lookUpByCatchingUp(node),
    onError: (error) => telemetry.problem("an API key can't be looked up", error),
    onUses,
  });
  node.onChanged((kinds) => resolver.changed(kinds));
  return resolver;
}
