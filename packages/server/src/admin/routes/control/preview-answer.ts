// What a preview of rules answers: the samples of this node and, on a control node, of its followers, decided again with
// what holds beside the rules: exceptions of plans and overrides, switches, blocked callers and tenants.

import { wallMs } from "../../../base/clock.js";
import {
  exceptionsOf,
  publishedRules,
  tenantProfileOf,
} from "../../../control/state/policy-inputs.js";
import type { ControlState } from "../../../control/state/state.js";
import { type Preview, preview } from "../../../core/preview/preview.js";
import type { RulesText } from "../../../core/rules-text.js";
import type { Coverage } from "../../fleet/coverage.js";
import type { AdminContext } from "../../route.js";

/** What is asked. */
export interface PreviewQuestion {
  readonly text: string;
  readonly minutes: number;
  /** Whether keys are shown as they are counted. */
  readonly showsKeys: boolean;
}

const MINUTE_MS = 60_000;

/** @throws What is wrong with the rules, or ServerError `SLUICE_RULES_BUSY`. */
export async function previewOf(
  { core, control, fleet }: AdminContext,
  { text, minutes, showsKeys }: PreviewQuestion,
): Promise<Preview & { readonly keysShare: number; readonly nodes: Coverage | null }> {
  const { policy } = core;
  const { samples } = core.telemetry;
  const toMs = wallMs();
  const { coverage, ...report } = await fleet.since(minutes * MINUTE_MS);
  const { controlState: state } = control;
  const answer = await preview({
    text,
    inForce: policy.rules,
    inForceText: textInForce(state),
    exceptions: state === undefined ? [] : exceptionsOf(state),
    switches: policy.switches,
    regions: core.config.regions,
    blocks: policy.callerBlocks,
    findTenant: state === undefined ? undefined : (tenant) => tenantProfileOf(state, tenant),
    networkOf: core.mmdb?.networkOf,
    samples: report.samples,
    fromMs: report.fromMs,
    toMs,
    isWhole: report.isWhole,
  });
  const toKey = (key: string | null) => (key === null || showsKeys ? key : samples.hashKey(key));
  return {
    ...answer,
    keysShare: report.keysShare,
    nodes: coverage,
    byKey: answer.byKey.map((each) => ({ ...each, key: toKey(each.key) })),
  };
}

/** Without a control plane they are not known as they were written, and read where they are needed. */
function textInForce(state: ControlState | undefined): RulesText | undefined {
  const written = state === undefined ? undefined : publishedRules(state);
  return written !== undefined && "text" in written ? written : undefined;
}
