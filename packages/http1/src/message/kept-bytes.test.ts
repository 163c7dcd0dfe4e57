import { expect, it } from "vitest";
import { copyApart } from "./kept-bytes.js";

it("copies into memory that is not part of a pool", () => {
  const copy = copyApart(Buffer.from("abc"));
  expect([copy.toString(), copy.buffer.byteLength]).toEqual(["abc", 3]);
});
