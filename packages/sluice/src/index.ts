/** Sluice decides, for every request, now, later or no.
 * @module
 */

export {};
