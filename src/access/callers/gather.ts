/** One statement carries that many. */
const TOGETHER_MAX = 256

interface Asked<K, V> {
  readonly keys: Set<K>
  readonly loaded: Promise<ReadonlyMap<K, V>>
}

/**
 * Loads together what is asked for in one turn of the event loop, so that a hundred callers are one
 * statement and not a hundred.
 */
export function gather<K extends string, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  let asked: Asked<K, V> | undefined
  const begin = (): Asked<K, V> => {
    const keys = new Set<K>()
    const turn = new Promise((resolve) => setImmediate(resolve))
    const loaded = turn.then(() => {
      if (asked?.keys === keys) asked = undefined
      return load([...keys])
    })
    return { keys, loaded }
  }
  return async (key) => {
    if (asked === undefined || asked.keys.size >= TOGETHER_MAX) asked = begin()
    asked.keys.add(key)
    return (await asked.loaded).get(key)
  }
}

/** Repeats the last until their number is a power of two, so that few texts are ever prepared. */
export function padded(keys: readonly string[]): readonly string[] {
  const last = keys.at(-1)
  if (last === undefined) return keys
  let size = 1
  while (size < keys.length) size *= 2
  return [...keys, ...Array.from({ length: size - keys.length }, () => last)]
}
