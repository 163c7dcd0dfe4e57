// The kill switch of all rules: how it is set, and the dialogs by which operators set it.

import { useState } from "preact/hooks";
import { useControlPlane, useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { Confirm } from "../../../ui/dialogs/dialog.js";
import { done } from "../../../ui/dialogs/toasts.js";
import { Button } from "../../../ui/forms/button.js";
import { Select } from "../../../ui/forms/field.js";
import { ALL_RULES, type SwitchTo, switchRule } from "../switch-rule.js";

interface KillSwitchProps {
  /** Undefined until it is known. */
  readonly switchedTo: SwitchTo | undefined;
  onChanged(): Promise<void>;
}

const SETTINGS: Readonly<
  Record<"off" | "deny", { name: string; verb: string; says: string; done: string }>
> = {
  off: {
    name: "Off: every request passes",
    verb: "Switch all off",
    says: "Every request passes and nothing is counted",
    done: "All rules are switched off",
  },
  deny: {
    name: "Deny: every request is refused",
    verb: "Deny all",
    says: "Every request is refused, those of exempt callers included",
    done: "All requests are refused",
  },
};

/** The button that opens the dialog. Those who may not switch don't see it. */
export function KillSwitch({ switchedTo, onChanged }: KillSwitchProps) {
  const [isOpen, setIsOpen] = useState(false);
  const maySwitch = useMaySwitch();
  const choices = useChoices(switchedTo);
  if (!maySwitch) return null;
  return (
    <>
      <Button
        isDisabled={switchedTo === undefined || choices.length === 0}
        onClick={() => setIsOpen(true)}
      >
        Kill switch
      </Button>
      {isOpen && (
        <KillDialog
          switchedTo={switchedTo}
          onClose={() => setIsOpen(false)}
          onChanged={onChanged}
        />
      )}
    </>
  );
}

interface AllRulesStateProps extends KillSwitchProps {
  /** What the rules themselves say. */
  readonly isEnabled: boolean | undefined;
}

/** Says so if all rules are off or deny, with the button that switches them on; nothing if they are on. */
export function AllRulesState({
  isEnabled = true,
  switchedTo = "on",
  onChanged,
}: AllRulesStateProps) {
  const [isOpen, setIsOpen] = useState(false);
  const maySwitch = useMaySwitch();
  const isOn = isEnabled && switchedTo === "on";
  const where = useIsOnNodeAlone(!isOn) ? " This node alone is switched." : "";
  if (isOn) return null;
  return (
    <div class="notice rules-act">
      <p role="status">
        {switchedTo === "deny" ? (
          <>
            <strong>All requests are refused:</strong> an operator has switched everything to deny.
            {where}
          </>
        ) : (
          <>
            <strong>All rules are off:</strong> every request passes and nothing is counted.
            {where}
          </>
        )}
      </p>
      {maySwitch && switchedTo !== "on" && (
        <Button onClick={() => setIsOpen(true)}>Switch all on</Button>
      )}
      {isOpen && <SwitchOnDialog onClose={() => setIsOpen(false)} onChanged={onChanged} />}
    </div>
  );
}

interface DialogProps extends KillSwitchProps {
  onClose(): void;
}

function KillDialog({ switchedTo, onClose, onChanged }: DialogProps) {
  const hasControl = useControlPlane() === "here";
  const choices = useChoices(switchedTo);
  const [to, setTo] = useState(choices[0] ?? "off");
  const act = async (reason: string) => {
    const isSwitched = switchedTo !== "on";
    await switchRule({ id: ALL_RULES, to, reason, isSwitched, hasControl });
    await onChanged();
    done(SETTINGS[to].done);
  };
  return (
    <Confirm
      title="Switch all rules"
      verb={SETTINGS[to].verb}
      isDangerous
      onClose={onClose}
      onConfirm={act}
    >
      <p class="note">
        {SETTINGS[to].says}, on {hasControl ? "every" : "this"} node, until all rules are switched
        on again. It takes effect immediately.
      </p>
      <Select
        label="All rules"
        value={to}
        options={choices.map((value) => ({ value, name: SETTINGS[value].name }))}
        onInput={(value) => setTo(value as typeof to)}
      />
    </Confirm>
  );
}

function SwitchOnDialog({ onClose, onChanged }: Omit<DialogProps, "switchedTo">) {
  const hasControl = useControlPlane() === "here";
  const act = async (reason: string) => {
    await switchRule({ id: ALL_RULES, to: "on", reason, isSwitched: true, hasControl });
    await onChanged();
    done("All rules are switched on");
  };
  return (
    <Confirm
      title="Switch all rules on again?"
      verb="Switch all on"
      onClose={onClose}
      onConfirm={act}
    >
      <p class="note">
        They limit requests again as they say. Rules that were switched one by one stay as they are.
      </p>
    </Confirm>
  );
}

/** Whether all rules are switched by a switch of this node, and not of the control plane. */
function useIsOnNodeAlone(isSwitched: boolean): boolean {
  const isAsked = useControlPlane() !== "none" && isSwitched;
  const { data } = useAnswer("nodeSwitches", isAsked ? "/v1/node/switches" : undefined);
  return isSwitched && data?.items.some(({ rule }) => rule === ALL_RULES) === true;
}

/** A follower is switched at its control plane. */
function useMaySwitch(): boolean {
  const isOperator = useMay("operator");
  return useControlPlane() !== "elsewhere" && isOperator;
}

/** What all rules can be switched to, from how they are; without a control plane they can't be set to deny. */
function useChoices(switchedTo: SwitchTo | undefined): readonly ("off" | "deny")[] {
  const hasControl = useControlPlane() === "here";
  const all: readonly ("off" | "deny")[] = hasControl ? ["off", "deny"] : ["off"];
  return all.filter((choice) => choice !== switchedTo);
}
