import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toTables } from "../../../test/config/reference-rows.js";
import { RESERVED_VARIABLES } from "../environment/variable-names.js";
import { parseConfig } from "../load.js";

const page = readFileSync(
  join(import.meta.dirname, "../../../../../docs/reference/configuration.md"),
  "utf8",
);
const [, ...sections] = page.split(/^## /m);
const tables = toTables();

describe("docs/reference/configuration.md", () => {
  it.each([...tables])("has a row for every value of '%s', and no other", (name, rows) => {
    const text = sections.find((section) => section.startsWith(`${name}\n`)) ?? "";
    const written = text.split("\n").filter((line) => /^\| \[?`/.test(line));
    expect(written).toEqual(rows);
  });

  it("has no table of something that is no section", () => {
    const withRows = sections.filter((section) => /^\| \[?`/m.test(section));
    expect(withRows.map((section) => section.split("\n", 1)[0])).toEqual([...tables.keys()]);
  });

  it("names the variables that are not values", () => {
    for (const name of RESERVED_VARIABLES) expect(page).toContain(`\`${name}\``);
  });

  it("shows a file that loads", () => {
    const [, text] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
    expect(
      parseConfig(text ?? "", { env: { SLUICE_ADMIN_TOKEN: "an-admin-token-of-16" } }),
    ).toMatchObject({
      routes: [{ upstream: "app" }],
      admin: { token: "an-admin-token-of-16" },
    });
  });

  it("links only to places that are there", () => {
    const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(
      ([, title]) => `#${title.toLowerCase().replaceAll(" ", "-")}`,
    );
    const links = [...page.matchAll(/\]\((#[^)]*)\)/g)].map(([, link]) => link);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });
});
