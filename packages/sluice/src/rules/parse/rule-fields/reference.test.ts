import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Fields } from "../../../base/shapes/shapes.js";
import { escalateFields } from "../../../stores/escalation/escalate-shape.js";
import { fileFields } from "../file-fields.js";
import { costForms, settleForms } from "./costs.js";
import { durableFields } from "./durable.js";
import { limitByName } from "./limit.js";
import { loginFields } from "./login-preset.js";
import { priorityForms } from "./request-priority.js";
import { exemptFields, matchFields, ruleFields, whenFields } from "./rule-fields.js";

const page = readFileSync(
  join(import.meta.dirname, "../../../../../../docs/reference/rules.md"),
  "utf8",
);
const [, ...sections] = page.split(/^## /m);

/** The rows of the tables of a section, cell by cell, without their heads. */
function rowsOf(section: string): string[][] {
  const text = sections.find((each) => each.startsWith(`${section}\n`)) ?? "";
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.slice(2, -2).split(" | "));
}

/** The first code of a cell. */
function codeOf(cell: string): string {
  return /`([^`]*)`/.exec(cell)?.[1] ?? "";
}

function codesOf(cell: string): string[] {
  return [...cell.matchAll(/`([^`]*)`/g)].map(([, code]) => code);
}

describe("docs/reference/rules.md", () => {
  it.each<[string, readonly Fields[]]>([
    ["The file", [fileFields.fields]],
    ["A rule", [ruleFields.fields]],
    ["match", [matchFields.fields]],
    ["cost", costForms.map(({ fields }) => fields)],
    ["settle", settleForms.map(({ fields }) => fields)],
    ["when", [whenFields.fields]],
    ["durable", [durableFields.fields]],
    ["escalate", [escalateFields.fields]],
    ["preset", [loginFields.fields]],
    ["requestPriority", [{ ...priorityForms[0].fields, ...priorityForms[1].fields }]],
    ["exempt", [exemptFields.fields]],
  ])("names every field of '%s' and no other", (section, forms) => {
    const documented = rowsOf(section).map(([name]) => codeOf(name));
    expect(documented.sort()).toEqual(forms.flatMap((fields) => Object.keys(fields)).sort());
  });

  it.each<[string, Fields]>([
    ["The file", fileFields.fields],
    ["A rule", ruleFields.fields],
  ])("says of every field of '%s' whether it is required, and its default", (section, fields) => {
    for (const [name, , byDefault] of rowsOf(section)) {
      const field = fields[codeOf(name)];
      const isPlain = typeof field.byDefault !== "object" && field.byDefault !== undefined;
      const said = [codeOf(name), byDefault === "required", codeOf(byDefault)];
      expect(said).toEqual([
        codeOf(name),
        field.isRequired,
        isPlain ? String(field.byDefault) : "",
      ]);
    }
  });

  it("names every limit with all of its options and no others", () => {
    const options = new Map(
      Object.entries(limitByName.fields).map(([name, { shape }]) => [name, namesOf(shape)]),
    );
    const known = new Set([...options.values()].flat());
    const documented = rowsOf("limit").map(
      ([name, cell]) => [codeOf(name), codesOf(cell).filter((code) => known.has(code))] as const,
    );
    expect(new Map(documented)).toEqual(options);
  });

  it("names every dimension of a key", () => {
    const dimensions = rowsOf("key").flatMap(([cell]) => codesOf(cell).map((c) => c.split(":")[0]));
    const pattern = (ruleFields.fields.key.shape.schema.anyOf as { pattern: string }[])[0].pattern;
    const known = [...pattern.matchAll(/[a-zA-Z]{2,}/g)].map(([word]) => word);
    expect(dimensions.sort()).toEqual(known.sort());
  });

  it("links only to places that are there", () => {
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(
      ([, title]) => `#${title.toLowerCase().replaceAll(" ", "-")}`,
    );
    const links = [...page.matchAll(/\]\((#[^)]*)\)/g)].map(([, link]) => link);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });
});

/** The names of an object's fields, those of objects inside it after their own. */
function namesOf(shape: unknown): string[] {
  const { fields } = shape as { fields?: Fields };
  return Object.entries(fields ?? {}).flatMap(([name, field]) => [name, ...namesOf(field.shape)]);
}
