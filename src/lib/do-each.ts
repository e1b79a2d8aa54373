/** A part of a round, and what it is in words. */
export interface PartialWork {
  readonly name: string
  run(): Promise<void>
}

/**
 * Does every part, one after another, whatever became of those before it; in the end all failures are
 * thrown together.
 */
export async function doEach(parts: readonly PartialWork[]): Promise<void> {
  const failures: Error[] = []
  for (const { name, run } of parts)
    try {
      await run()
    } catch (cause) {
      failures.push(new Error(`${name} failed`, { cause }))
    }
  if (failures.length > 0)
    throw new AggregateError(failures, failures.map(({ message }) => message).join(', '))
}
