export interface PartialWork {
  readonly name: string
  run(): Promise<void>
}

/** Runs every part even after failures, then throws all of them. */
export async function runAll(parts: readonly PartialWork[]): Promise<void> {
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
