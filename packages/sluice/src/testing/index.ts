/** What tests of and with Sluice need: a clock that only moves when told, and the store conformance kit.
 * @module
 */

export {};
