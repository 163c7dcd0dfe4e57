// The page Access: who may use what. Plans, tenants, their API keys, tokens of this API, overrides and blocks.

import { useLocation } from "preact-iso";
import { NeedsControlPlane } from "../../ui/page/control-plane.js";
import { Page } from "../../ui/page/page.js";
import { Tabs } from "../../ui/page/tabs.js";
import "./access.css";
import { BlocksTab } from "./blocks-tab.js";
import { ApiKeysTab } from "./credentials/api-keys-tab.js";
import { TokensTab } from "./credentials/tokens-tab.js";
import { OverridesTab } from "./overrides-tab.js";
import { PlansTab } from "./plans-tab.js";
import { TenantsTab } from "./tenants/tenants-tab.js";

const HOME = "/dashboard/access";
const TABS = [
  { href: `${HOME}/tenants`, name: "Tenants", Content: TenantsTab },
  { href: `${HOME}/plans`, name: "Plans", Content: PlansTab },
  { href: `${HOME}/keys`, name: "API keys", Content: ApiKeysTab },
  { href: `${HOME}/overrides`, name: "Overrides", Content: OverridesTab },
  { href: `${HOME}/blocks`, name: "Blocks", Content: BlocksTab },
  { href: `${HOME}/tokens`, name: "Access tokens", Content: TokensTab },
] as const;

/** The page. */
export function Access() {
  const { path } = useLocation();
  const { href, Content } = TABS.find((tab) => tab.href === path) ?? TABS[0];
  return (
    <Page
      title="Access"
      lead="Who may use what: plans, tenants and their keys, and who may use this API."
    >
      <NeedsControlPlane what="Plans, tenants and keys">
        <Tabs label="Kinds of access" tabs={TABS} current={href} />
        <Content key={href} />
      </NeedsControlPlane>
    </Page>
  );
}
