import { readPortions } from "./read-portions.js";
export const portionsOf = readPortions;
