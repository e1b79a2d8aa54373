/**
 * What all tasks come to, in their order. Fails with the first failure, but only when nothing of them
 * is under way any more: statements of a transaction must not outlive it.
 */
export async function allEnded<T extends readonly unknown[] | []>(
  tasks: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(tasks)
  return Promise.all(tasks)
}
