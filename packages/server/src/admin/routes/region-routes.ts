// Routes of the home region: which region it is, and its promotion. Stores decide both, so they need no control plane;
// with one, a promotion is in its audit log.

import type { HomeControl } from "sluice/rules";
import { anyString, flag, object, optional, required, withDefault } from "sluice/shapes";
import { ServerError } from "../../base/errors.js";
import type { Core } from "../../core/core.js";
import { type AdminReply, json } from "../replies/admin-reply.js";
import { answers } from "../replies/reply-schemas.js";
import { toChange } from "../request/change-request.js";
import { type AdminContext, type AdminRequest, type Route, route } from "../route.js";

const promotion = object({
  region: required(anyString(64), "The region that becomes home: the home region or its standby."),
  oldHomeStopped: withDefault(
    flag,
    false,
    "Says that the old home region's store is stopped, if it can't be reached and no database arbitrates.",
  ),
  reason: optional(anyString(1_000), "Why, for the audit log."),
});

interface PromotionInput {
  readonly region: string;
  readonly oldHomeStopped: boolean;
}

/** The routes of the home region. */
export const regionRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/regions",
    role: "viewer",
    summary: "Which region is home, under which epoch and for how long; needs regions.standby.",
    reply: answers.regions,
    handle: answerRegions,
  }),
  route<unknown, PromotionInput>({
    method: "POST",
    path: "/v1/regions/promote",
    role: "operator",
    summary:
      "Makes a region home. The old home region is fenced first, and the new one opens when its leases are over.",
    input: promotion,
    reply: answers.promotion,
    handle: answerPromotion,
  }),
];

async function answerRegions({ core }: AdminContext): Promise<AdminReply> {
  const { control, self, standby } = homeRegionOf(core);
  const stats = await control.show();
  return json({
    self,
    home: stats?.home ?? null,
    standby,
    epoch: stats?.epoch ?? null,
    isOpen: stats?.isOpen ?? false,
    homeForMs: stats !== undefined && Number.isFinite(stats.ageMs) ? stats.ageMs : null,
    isContested: stats?.isContested ?? false,
    fenceRefusals: stats?.fenceRefusals ?? 0,
  });
}

async function answerPromotion(
  { core, control: { controlPlane } }: AdminContext,
  request: AdminRequest<unknown, PromotionInput>,
): Promise<AdminReply> {
  const { region: id, oldHomeStopped } = request.input;
  const { control } = homeRegionOf(core);
  const change = toChange(request);
  const before = control.stats;
  const promoted = await control.promote(id, { isOldHomeStopped: oldHomeStopped });
  if (!promoted.isPromoted) throw new ServerError("SLUICE_CONFLICT", promoted.why);
  const { isPromoted: _, ...answer } = promoted;
  core.telemetry.log.warn({ ...answer, from: before?.home }, "a region was promoted");
  if (controlPlane !== undefined && !("follow" in controlPlane)) {
    const details = { ...answer, from: before?.home ?? null, oldHomeStopped };
    await controlPlane.record(change, { action: "promote", kind: "region", id, details });
  }
  return json(answer);
}

function homeRegionOf({ homeRegion, config: { regions } }: Core): {
  readonly control: HomeControl;
  readonly self: string;
  readonly standby: string;
} {
  if (homeRegion !== undefined && regions?.standby !== undefined) {
    return { control: homeRegion, self: regions.self, standby: regions.standby };
  }
  throw new ServerError(
    "SLUICE_NOT_FOUND",
    "this service has no home region with a standby: regions.standby is not set",
  );
}
