import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Longer than any run. */
const KEPT_MS = 2 ** 30
const ENDS_WITHIN_MS = 60_000

/** Runs test files in this process, one after the other, each as a test of its name. */
export async function runFiles(root: string, files: readonly string[]): Promise<void> {
  // Some tests wait for a timer that lets a process end.
  const kept = setInterval(() => undefined, KEPT_MS)
  for (const file of files) {
    const url = pathToFileURL(join(root, file)).href
    await test(file, async () => void (await import(url)))
  }
  clearInterval(kept)
  setTimeout(() => failOpen(files), ENDS_WITHIN_MS).unref()
}

/** What one of the files has not closed keeps its process. */
function failOpen(files: readonly string[]): void {
  const open = process.getActiveResourcesInfo().join(', ')
  process.stderr.write(`Left open by ${files.join(', ')}: ${open}\n`)
  process.exit(1)
}
