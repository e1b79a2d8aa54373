/** Repeats the last up to a power of two, to prepare few texts. */
export function padded(keys: readonly string[]): readonly string[] {
  const last = keys.at(-1)
  if (last === undefined) return keys
  let size = 1
  while (size < keys.length) size *= 2
  return [...keys, ...Array.from({ length: size - keys.length }, () => last)]
}
