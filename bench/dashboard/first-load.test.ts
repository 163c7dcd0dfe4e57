import { expect, it } from "vitest";
import { importedBy, namedBy } from "./first-load.js";

it("the first load has what the page names, and what scripts import before they run", () => {
  const html = `<link rel="icon" href="./icon.svg" /><link rel="stylesheet" crossorigin href="/dashboard/assets/a.css">
    <script type="module" crossorigin src="/dashboard/assets/a.js"></script><a href="https://example.com/x">x</a>`;
  expect(namedBy(html)).toEqual(["icon.svg", "assets/a.css", "assets/a.js"]);
  const script = `import{a as b}from"./b.js";import"./c.js";export*from'../d.js';const e=()=>import("./late.js");`;
  expect(importedBy("assets/a.js", script)).toEqual(["assets/b.js", "assets/c.js", "d.js"]);
  expect(importedBy("assets/a.css", '@import "./b.css"')).toEqual([]);
});
