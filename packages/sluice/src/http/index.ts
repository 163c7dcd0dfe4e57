/**
 * For whoever writes an adapter of its own: a door that decides requests of any server, and what goes in
 * and out of it. Frameworks have theirs already: `sluice/express` and the others.
 *
 * @module
 */

export { readNodeBody } from "./body/node.js";
export { parseBody, toBodyForm } from "./body.js";
export type { Door } from "./door.js";
export { eachField, type Fields, toFields, toLines } from "./fields.js";
export { hashSecret } from "./identity/secrets.js";
export { NodeView, sendReply } from "./node/exchange.js";
export { joinHead } from "./node/head.js";
export { createDoor } from "./options.js";
export { Passage } from "./passage.js";
export type { Refusal, Reply } from "./refusal.js";
export type * from "./types.js";
