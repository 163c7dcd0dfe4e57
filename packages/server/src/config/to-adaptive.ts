// Turns an adaptive limit of the configuration into the options of the library.

import type { FileValues } from "./description/file.js";
import type { AdaptiveConfig } from "./upstream-config.js";

type AdaptiveValues = FileValues["upstreams"][string]["adaptive"];

/** The options of an adaptive limit; undefined if there is none. */
export function toAdaptive(values: AdaptiveValues): AdaptiveConfig | undefined {
  if (values === undefined) return undefined;
  const { initial, ...rest } = values;
  return initial === undefined ? rest : { initial, ...rest };
}
