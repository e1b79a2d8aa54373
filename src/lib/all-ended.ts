/** Waits for every task even after a failure: statements must not outlive their transaction. */
export async function allEnded<T extends readonly unknown[] | []>(
  tasks: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(tasks)
  return Promise.all(tasks)
}
