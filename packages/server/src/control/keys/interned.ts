// Strings that many keys share, each kept once under a number: the names of tenants, lists of scopes. A string that no
// key uses any more is forgotten, and its number is used again.

/** Strings by number. Number 0 means none. */
export class Interned {
  readonly #numbers = new Map<string, number>();
  readonly #strings: string[] = [""];
  readonly #users: number[] = [0];
  readonly #free: number[] = [];

  /** One more use of a string. Returns its number. */
  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) {
      this.#users[known] = (this.#users[known] ?? 0) + 1;
      return known;
    }
    const number = this.#free.pop() ?? this.#strings.length;
    this.#numbers.set(text, number);
    this.#strings[number] = text;
    this.#users[number] = 1;
    return number;
  }

  /** One use less. */
  release(number: number): void {
    if (number === 0) return;
    const left = (this.#users[number] ?? 0) - 1;
    this.#users[number] = left;
    if (left > 0) return;
    this.#numbers.delete(this.at(number));
    this.#strings[number] = "";
    this.#free.push(number);
  }

  /** The string of a number; empty for 0. */
  at(number: number): string {
    return this.#strings[number] ?? "";
  }
}
