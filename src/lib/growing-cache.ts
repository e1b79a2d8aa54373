import { LRUCache } from 'lru-cache'

/**
 * A cache of the `max` entries used last. It grows as it fills: with `max` of its own, the library makes
 * arrays of that length at once, which takes milliseconds and megabytes of each start.
 */
export function growingCache<K extends {}, V extends {}>(max: number): LRUCache<K, V> {
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation: () => 1 })
}
