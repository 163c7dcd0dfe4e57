// A key that has hashes of secrets or of long values in it: no request can be made of it, so its counters can't be
// shown. It can be acted on regardless.

import { useState } from "preact/hooks";
import { useMay } from "../../api/session.js";
import { Button } from "../../ui/forms/button.js";
import { Card } from "../../ui/page/page.js";
import { KeyText } from "../../ui/text/key-text.js";
import { ActDialog, type KeyAction } from "./act-dialogs.js";

const ACTS = [
  ["reset", "Reset"],
  ["grant", "Refund"],
  ["unblock", "Unblock"],
  ["block", "Block"],
] as const;

interface RulesOfKeyProps {
  readonly rule: string;
  readonly counterKey: string;
}

/** The key, and what can be done to it. */
export function RulesOfKey({ rule, counterKey }: RulesOfKeyProps) {
  const mayAct = useMay("operator");
  const [act, setAct] = useState<KeyAction>();
  return (
    <Card title={rule === "" ? "A key" : rule}>
      <p class="key-counted">
        counted as <KeyText value={counterKey} />
      </p>
      <p class="note">
        The key stands for a value by its hash, so its counters can't be shown here.
      </p>
      {mayAct && rule !== "" && (
        <div class="actions key-acts">
          {ACTS.map(([name, text]) => (
            <Button
              key={name}
              kind={name === "block" ? "danger" : "plain"}
              onClick={() => setAct(name)}
            >
              {text}
            </Button>
          ))}
        </div>
      )}
      {act !== undefined && (
        <ActDialog
          act={act}
          target={{ rule, key: counterKey }}
          facts={{ method: "GET", path: "/" }}
          onClose={() => setAct(undefined)}
          onDone={async () => {}}
        />
      )}
    </Card>
  );
}
