/** Reads the part of an address after `?`, in which anything may be written. */

type Search = Record<string, unknown>;

/** Returns a word of the address, if it is there. */
export function word(search: Search, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns a word of the address if it is one of `known`. */
export function oneOf<T extends string>(
  search: Search,
  name: string,
  known: ReadonlyArray<T>,
): T | undefined {
  const value = word(search, name);
  return known.find((one) => one === value);
}
