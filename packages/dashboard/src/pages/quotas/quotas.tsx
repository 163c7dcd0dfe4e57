// The page Quotas: how the durable quotas of tenants stand. All of them by the share that is used, and one tenant with
// its forecast, its ledger and top-ups.

import { useLocation } from "preact-iso";
import { NeedsControlPlane } from "../../ui/page/control-plane.js";
import { Page } from "../../ui/page/page.js";
import { escapeUnseen } from "../../ui/text/key-text.js";
import "./quotas.css";
import { QuotaList } from "./quota-list.js";
import { TenantQuotas } from "./tenant-quotas.js";

const HOME = "/dashboard/quotas";

/** The page. */
export function Quotas() {
  const { path } = useLocation();
  const tenant = tenantOf(path);
  return (
    <Page
      title={tenant === "" ? "Quotas" : escapeUnseen(tenant)}
      lead={
        tenant === "" ? (
          "What tenants have used of their quotas, the most used first."
        ) : (
          <a href={HOME}>All tenants</a>
        )
      }
    >
      <NeedsControlPlane what="Quotas and the ledger">
        {tenant === "" ? <QuotaList /> : <TenantQuotas key={tenant} tenant={tenant} />}
      </NeedsControlPlane>
    </Page>
  );
}

function tenantOf(path: string): string {
  const part = path.startsWith(`${HOME}/`) ? path.slice(HOME.length + 1) : "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
