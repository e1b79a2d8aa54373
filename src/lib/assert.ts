/** Throws when a condition that our own code guarantees does not hold. Never for outside input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

class AssertionError extends Error {
  override readonly name = 'AssertionError'
}
