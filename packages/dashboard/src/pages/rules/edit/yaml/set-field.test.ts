import { describe, expect, it } from "vitest";
import { setField } from "./set-field.js";

const YAML = `# Ours.
version: 1
rules:
  - id: login # by address
    key: ip
    limit: 5/minute
  - { id: search, key: ip, limit: 5/minute }
  - key: ip
    id: "last"
    rollout: 10 # for now
    limit: 5/minute
`;

describe("setting a field of a rule", () => {
  it("adds it below the id, and keeps everything else", () => {
    expect(setField(YAML, "login", { field: "onExceed", value: "shadow" })).toBe(
      YAML.replace("# by address\n", "# by address\n    onExceed: shadow\n"),
    );
  });

  it("adds it within braces, in JSON with quotes and on a line of its own", () => {
    expect(setField(YAML, "search", { field: "rollout", value: 25 })).toBe(
      YAML.replace("id: search,", "id: search, rollout: 25,"),
    );
    const json = JSON.stringify({ version: 1, rules: [{ id: "a", key: "ip" }] }, undefined, 2);
    const set = setField(json, "a", { field: "onExceed", value: "shadow" }) ?? "";
    expect(JSON.parse(set)).toEqual({
      version: 1,
      rules: [{ id: "a", onExceed: "shadow", key: "ip" }],
    });
    expect(set.split("\n")).toHaveLength(json.split("\n").length + 1);
  });

  it("replaces the value that is there", () => {
    expect(setField(YAML, "last", { field: "rollout", value: 50 })).toBe(
      YAML.replace("rollout: 10", "rollout: 50"),
    );
  });

  it("knows no rule that is not there, and no rules where there are none", () => {
    for (const text of [YAML, "", "rules: 7", "rules:\n  - login", "{", "- id: other"])
      expect(setField(text, "other", { field: "rollout", value: 1 })).toBeUndefined();
  });
});
