// Finds adaptive limits whose numbers do not fit together, before a start fails because of them.

import { SluiceError } from "sluice";
import { adaptiveConcurrency } from "sluice/adaptive";
import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";
import { toAdaptive } from "../to-adaptive.js";
import type { AdaptiveConfig } from "../upstream-config.js";

/** Checks the adaptive limits of upstreams and routes. */
export function checkAdaptive({ upstreams, routes }: FileValues, problems: ConfigProblems): void {
  for (const [name, { adaptive }] of Object.entries(upstreams)) {
    check(["upstreams", name, "adaptive"], toAdaptive(adaptive), problems);
  }
  for (const [i, { adaptive }] of routes.entries()) {
    check(["routes", i, "adaptive"], toAdaptive(adaptive), problems);
  }
}

const PREFIX = /^.*adaptiveConcurrency: /;

function check(
  path: readonly (string | number)[],
  adaptive: AdaptiveConfig | undefined,
  problems: ConfigProblems,
): void {
  if (adaptive === undefined) return;
  try {
    adaptiveConcurrency(adaptive);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    problems.add(path, `is invalid: ${error.message.replace(PREFIX, "")}`);
  }
}
