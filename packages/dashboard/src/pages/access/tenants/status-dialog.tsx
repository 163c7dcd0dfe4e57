// Suspends a tenant, or lets it go on.

import { Confirm } from "../../../ui/dialogs/dialog.js";
import { done } from "../../../ui/dialogs/toasts.js";
import { saveTenant, type Tenant } from "./tenant.js";

interface StatusDialogProps {
  readonly tenant: Tenant;
  onClose(): void;
  onDone(): Promise<void>;
}

/** Asks for a reason, and changes the status. */
export function StatusDialog({ tenant, onClose, onDone }: StatusDialogProps) {
  const isActive = tenant.status === "active";
  const act = async (reason: string) => {
    const { revision, ...rest } = tenant;
    await saveTenant({ ...rest, status: isActive ? "suspended" : "active" }, revision, reason);
    done(`${tenant.id} is ${isActive ? "suspended" : "active again"}.`);
    await onDone();
  };
  return (
    <Confirm
      title={`${isActive ? "Suspend" : "Resume"} tenant ${tenant.id}`}
      verb={isActive ? "Suspend" : "Resume"}
      isDangerous={isActive}
      onClose={onClose}
      onConfirm={act}
    >
      <p>
        {isActive
          ? "Every node refuses all of its requests within two seconds. Its keys and quotas stay."
          : "Its requests are decided by the rules again."}
      </p>
    </Confirm>
  );
}
