import { describe, expect, it } from "vitest";
import type { AuditedAct, ChangeRequest } from "../control/changes/changes.js";
import { auditEscalations } from "./escalation-audit.js";

const event = (key: string) =>
  ({ kind: "escalated", rule: "login", key, level: 2, blockMs: 600_000 }) as const;

function stand(record: (act: AuditedAct) => Promise<void>) {
  const problems: string[] = [];
  const ids = new Set<string>();
  const plane = {
    record: (change: ChangeRequest, act: AuditedAct) => {
      ids.add(change.id);
      return record(act);
    },
  };
  const audit = auditEscalations(plane, { problem: (kind) => problems.push(kind) });
  return { audit: audit as NonNullable<typeof audit>, problems, ids };
}

describe("the audit log of escalations", () => {
  it("has each block once, one after the other, with its rule, key, level and length", async () => {
    const acts: AuditedAct[] = [];
    let underWay = 0;
    const { audit, ids } = stand(async (act) => {
      expect(++underWay).toBe(1);
      await Promise.resolve();
      underWay--;
      acts.push(act);
    });
    for (const key of ["ip:a", "ip:b", "ip:c"]) audit(event(key));
    await expect.poll(() => acts.length).toBe(3);
    expect(acts[0]).toEqual({
      action: "escalate",
      kind: "counter",
      id: "login ip:a",
      details: { rule: "login", key: "ip:a", level: 2, blockMs: 600_000 },
    });
    expect(ids.size).toBe(3);
  });

  it("goes on after a failure, which is reported, and never holds more than a thousand", async () => {
    let written = 0;
    const { audit, problems } = stand(async () => {
      written++;
      if (written === 1) throw new Error("the database is away");
    });
    for (let i = 0; i < 1_200; i++) audit(event(`ip:${i}`));
    await expect.poll(() => written).toBe(1_001);
    expect(problems).toHaveLength(200);
  });

  it("is not written without the database of a control plane", () => {
    expect(auditEscalations(undefined, { problem: () => {} })).toBeUndefined();
  });
});
