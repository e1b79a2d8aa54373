import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Longer than any run. */
const KEPT_MS = 2 ** 30

/** Runs test files in this process, one after the other, each as a test of its name. */
export async function runFiles(root: string, files: readonly string[]): Promise<void> {
  // Some tests wait for a timer that lets a process end.
  const kept = setInterval(() => undefined, KEPT_MS)
  for (const file of files) {
    const url = pathToFileURL(join(root, file)).href
    await test(file, async () => void (await import(url)))
  }
  clearInterval(kept)
}
