/** Repeats the last until their number is a power of two, so that few texts are ever prepared. */
export function padded(keys: readonly string[]): readonly string[] {
  const last = keys.at(-1)
  if (last === undefined) return keys
  let size = 1
  while (size < keys.length) size *= 2
  return [...keys, ...Array.from({ length: size - keys.length }, () => last)]
}
