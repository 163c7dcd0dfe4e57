// What operators do to one rule: the kill switch, which takes effect immediately, and shadow mode and rollout, which are
// edits of the rules: they make a draft and lead to its preview.

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useControlPlane } from "../../../api/session.js";
import { Confirm } from "../../../ui/dialogs/dialog.js";
import { done } from "../../../ui/dialogs/toasts.js";
import { Button } from "../../../ui/forms/button.js";
import { Field } from "../../../ui/forms/field.js";
import { Card } from "../../../ui/page/page.js";
import { toReviewAddress } from "../addresses.js";
import { type SwitchTo, switchRule } from "../switch-rule.js";
import type { RuleView } from "../words.js";
import { draftOfRule, type RuleEdit } from "./draft-of-rule.js";

interface RuleActsProps {
  readonly rule: RuleView;
  /** Whether there is a switch of this rule, and not of all. */
  readonly isSwitched: boolean;
  onChanged(): Promise<void>;
}

type Asked =
  | { readonly kind: "switch"; readonly to: SwitchTo }
  | { readonly kind: "shadow"; readonly isOn: boolean }
  | { readonly kind: "rollout" };

const SWITCHES: Readonly<Record<SwitchTo, { verb: string; title: string; says: string }>> = {
  off: {
    verb: "Switch off",
    title: "Switch this rule off?",
    says: "Requests pass it and are not counted, on every node, until it is switched on again.",
  },
  deny: {
    verb: "Deny all",
    title: "Refuse every request of this rule?",
    says: "Every request that matches it is refused, on every node, exempt callers included, until it is switched on again.",
  },
  on: {
    verb: "Switch on",
    title: "Switch this rule on again?",
    says: "It limits requests again as the rules say.",
  },
};

/** The card with the controls of a rule. */
export function RuleActs({ rule, isSwitched, onChanged }: RuleActsProps) {
  const [asked, setAsked] = useState<Asked>();
  const place = useControlPlane();
  if (place === "elsewhere")
    return (
      <Card title="Controls">
        <p>This node follows a control plane. Rules are switched and edited there.</p>
      </Card>
    );
  const ask = (to: SwitchTo) => () => setAsked({ kind: "switch", to });
  const isShadow = rule.onExceed === "shadow";
  return (
    <Card title="Controls">
      <div class="rules-acts">
        <div class="rules-act">
          <p>
            <strong>Kill switch.</strong> Takes effect immediately.
          </p>
          <div class="actions">
            {isSwitched && <Button onClick={ask("on")}>Switch on</Button>}
            {rule.switchedTo !== "off" && <Button onClick={ask("off")}>Switch off</Button>}
            {place === "here" && rule.switchedTo !== "deny" && (
              <Button kind="danger" onClick={ask("deny")}>
                Deny all
              </Button>
            )}
          </div>
        </div>
        {place === "here" && (
          <>
            <div class="rules-act">
              <p>
                <strong>Shadow mode.</strong>{" "}
                {isShadow
                  ? "The rule counts requests and refuses none."
                  : "The rule would count requests and refuse none."}
              </p>
              <Button onClick={() => setAsked({ kind: "shadow", isOn: !isShadow })}>
                {isShadow ? "Enforce it" : "Try as shadow"}
              </Button>
            </div>
            <div class="rules-act">
              <p>
                <strong>Rollout.</strong> It holds for {rule.rolloutPercent ?? 100}% of keys.
              </p>
              <Button onClick={() => setAsked({ kind: "rollout" })}>Change the share</Button>
            </div>
          </>
        )}
      </div>
      {asked?.kind === "switch" && (
        <SwitchDialog
          rule={rule}
          to={asked.to}
          isSwitched={isSwitched}
          onClose={() => setAsked(undefined)}
          onChanged={onChanged}
        />
      )}
      {asked !== undefined && asked.kind !== "switch" && (
        <EditDialog rule={rule} asked={asked} onClose={() => setAsked(undefined)} />
      )}
    </Card>
  );
}

interface SwitchDialogProps extends RuleActsProps {
  readonly to: SwitchTo;
  onClose(): void;
}

function SwitchDialog({ rule, to, isSwitched, onClose, onChanged }: SwitchDialogProps) {
  const { verb, title, says } = SWITCHES[to];
  const place = useControlPlane();
  return (
    <Confirm
      title={title}
      verb={verb}
      isDangerous={to !== "on"}
      onClose={onClose}
      onConfirm={async (reason) => {
        await switchRule({ id: rule.id, to, reason, isSwitched, hasControl: place === "here" });
        await onChanged();
        done(
          `${rule.id}: ${to === "on" ? "switched on" : to === "off" ? "switched off" : "denies all"}`,
        );
      }}
    >
      <p class="note">
        <strong>{rule.id}.</strong> {says}
      </p>
    </Confirm>
  );
}

interface EditDialogProps {
  readonly rule: RuleView;
  readonly asked: Exclude<Asked, { readonly kind: "switch" }>;
  onClose(): void;
}

function EditDialog({ rule, asked, onClose }: EditDialogProps) {
  const [percent, setPercent] = useState(String(rule.rolloutPercent ?? 100));
  const { route } = useLocation();
  const isRollout = asked.kind === "rollout";
  const share = Number(percent);
  const isShare = percent.trim() !== "" && share >= 0 && share <= 100;
  const edit: RuleEdit = isRollout
    ? { field: "rollout", value: share }
    : { field: "onExceed", value: asked.isOn ? "shadow" : "reject" };
  return (
    <Confirm
      title={isRollout ? "Change the share of keys" : asked.isOn ? "Try as shadow" : "Enforce it"}
      verb="Create draft"
      needsReason={false}
      isComplete={!isRollout || isShare}
      onClose={onClose}
      onConfirm={async (reason) => {
        const { number } = await draftOfRule(rule.id, edit, reason);
        route(toReviewAddress(number));
      }}
    >
      <p class="note">
        This makes a draft of the rules and shows what it would change. Nothing is enforced until
        the draft is published.
      </p>
      {isRollout && (
        <Field
          label="Share of keys, in percent"
          type="number"
          min={0}
          max={100}
          step="any"
          value={percent}
          onInput={setPercent}
          problem={isShare ? undefined : "A number from 0 to 100."}
        />
      )}
    </Confirm>
  );
}
