import { useEffect, useState } from 'preact/hooks'
import type { Entry, Snapshot } from './types.ts'

const EVERY_MS = 10_000

/** After failures, so that a server that comes back is not met by everyone at once. */
const WAIT_MAX_MS = 60_000

export interface Failure {
  readonly sinceUnix: number
  readonly retryAtUnix: number
}

export interface Seen {
  readonly snapshot: Snapshot
  /** Entries that were shown and left their chain; they stay until the page is loaded again. */
  readonly struck: readonly Entry[]
  readonly failure: Failure | undefined
  retry(): void
}

/** The page's data: first from the document itself, then from the shared snapshot. */
export function useSnapshot(): Seen {
  const [snapshot, setSnapshot] = useState(readEmbedded)
  const [struck, setStruck] = useState<readonly Entry[]>([])
  const [failure, setFailure] = useState<Failure>()
  const [dueMs, setDueMs] = useState(() => Date.now() + EVERY_MS)

  useEffect(() => {
    const timer = setTimeout(ask, Math.max(0, dueMs - Date.now()))
    async function ask() {
      // A tab in the background asks nothing.
      if (document.hidden) return setDueMs(Date.now() + EVERY_MS)
      try {
        const response = await fetch('/snapshot.json')
        if (!response.ok) throw new Error(`${response.status}`)
        const next: Snapshot = await response.json()
        setStruck((known) => stillStruck([...known, ...retracted(snapshot, next)], next))
        // What a wallet or a transaction has is in its page only.
        setSnapshot((last) => ({ ...last, ...next }))
        setFailure(undefined)
        setDueMs(Date.now() + EVERY_MS)
      } catch {
        const nowMs = Date.now()
        const sinceUnix = failure?.sinceUnix ?? nowMs / 1000
        const waitMs = waitOf(nowMs / 1000 - sinceUnix)
        setFailure({ sinceUnix, retryAtUnix: (nowMs + waitMs) / 1000 })
        setDueMs(nowMs + waitMs)
      }
    }
    return () => clearTimeout(timer)
  }, [dueMs])

  return { snapshot, struck, failure, retry: () => setDueMs(Date.now()) }
}

/** Longer the longer the server is away. */
function waitOf(awaySeconds: number): number {
  return Math.min(WAIT_MAX_MS, Math.max(EVERY_MS, awaySeconds * 500))
}

function readEmbedded(): Snapshot {
  const text = document.getElementById('snapshot')?.textContent ?? '{}'
  return JSON.parse(text)
}

/** A transaction that left its chain may come back in another block. */
export function stillStruck(known: readonly Entry[], next: Snapshot): readonly Entry[] {
  const live = new Set(next.figures?.newest.map(({ id }) => id))
  const byId = new Map(known.filter(({ id }) => !live.has(id)).map((entry) => [entry.id, entry]))
  return [...byId.values()]
}

/** Entries of the old list that should still be in the new one and are not. */
export function retracted(before: Snapshot, after: Snapshot): readonly Entry[] {
  if (before.figures === null || after.figures === null) return []
  const { newest } = after.figures
  const ids = new Set(newest.map(({ id }) => id))
  const oldest = newest.at(-1)?.timestampUnix ?? Number.POSITIVE_INFINITY
  return before.figures.newest.filter(
    ({ id, timestampUnix, finality }) =>
      finality !== 'finalized' && timestampUnix > oldest && !ids.has(id),
  )
}
