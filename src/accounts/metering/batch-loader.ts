import DataLoader from 'dataloader'

const TOGETHER_MAX = 256

/** Batches look-ups of one turn of the event loop into one statement, without caching results. */
export function batchLoader<K extends string, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  const loader = new DataLoader<K, V | undefined>(
    async (keys) => {
      // Clears the loader's cache, which only deduplicates within a turn.
      loader.clearAll()
      const found = await load(keys)
      return keys.map((key) => found.get(key))
    },
    { maxBatchSize: TOGETHER_MAX, batchScheduleFn: setImmediate },
  )
  return (key) => loader.load(key)
}
