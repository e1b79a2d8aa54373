import DataLoader from 'dataloader'

/** One statement carries that many. */
const TOGETHER_MAX = 256

/**
 * Loads together what is asked for in one turn of the event loop, so that a hundred callers are one
 * statement and not a hundred. Nothing is remembered: who asks once a load began is loaded anew.
 */
export function gather<K extends string, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  const loader = new DataLoader<K, V | undefined>(
    async (keys) => {
      // The loader's memory serves only to ask once for a key that many ask for in one turn.
      loader.clearAll()
      const found = await load(keys)
      return keys.map((key) => found.get(key))
    },
    { maxBatchSize: TOGETHER_MAX, batchScheduleFn: setImmediate },
  )
  return (key) => loader.load(key)
}
