import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { StoreError } from '../engine.ts'

/** A removed file works until its last user closes it, so what is written meanwhile would be lost. */
const LOOK_MS = 500

/** Throws StoreError from then on once the file is gone or another one stands in its place. */
export function watchPresence(file: string): () => void {
  const opened = statSync(file).ino
  let lookedMs = performance.now()
  let isGone = false
  return () => {
    const nowMs = performance.now()
    if (!isGone && nowMs - lookedMs > LOOK_MS) {
      lookedMs = nowMs
      isGone = statSync(file, { throwIfNoEntry: false })?.ino !== opened
    }
    if (isGone)
      throw new StoreError(
        `SQLite: ${basename(file)} was removed or replaced while in use; stop the service and restore a backup`,
      )
  }
}
