// A tenant as the API answers it, and how a change of it is saved.

import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../../api/client.js";

/** A tenant. */
export type Tenant = ReplyOf<"tenant">;

/** Sends a tenant as it is to be saved. */
export function saveTenant(
  tenant: Omit<Tenant, "revision">,
  revision: number | undefined,
  reason: string,
): Promise<Tenant> {
  const { id, ...body } = tenant;
  return ask("tenant", `/v1/tenants/${encodeURIComponent(id)}`, {
    method: "PUT",
    ...(revision === undefined ? {} : { ifMatch: revision }),
    body: { ...body, ...(reason !== "" && { reason }) },
  });
}
