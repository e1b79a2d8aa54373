import { useState } from 'preact/hooks'
import type { PagedMeta } from 'sexton-client'
import type { EventCard } from '#site/event-card.ts'
import { sexton } from '../state/session.ts'
import type { Entry } from '../state/types.ts'

/** What was read of one list. */
interface Read {
  readonly rows: readonly Entry[]
  /** Null at its end. */
  readonly cursor: string | null
}

const ROWS = 50

/** Entries of several lists together, read page by page when the person asks; each list is a call. */
export function useOlder(kinds: readonly EventCard[], query: Readonly<Record<string, string>>) {
  const [read, setRead] = useState<Readonly<Record<string, Read>>>({})
  const [failure, setFailure] = useState<unknown>()
  const [isReading, setReading] = useState(false)
  const { next, fromUnix } = progressOf(kinds, read)
  const more = async () => {
    setFailure(undefined)
    setReading(true)
    const pages = next.map(async ({ noun, list }) => {
      const before = read[noun]
      const input = { ...query, limit: ROWS, ...(before?.cursor && { cursor: before.cursor }) }
      const { data, meta } = await sexton().call<readonly Entry[], PagedMeta>(
        'GET',
        list.path,
        input,
      )
      const rows = [...(before?.rows ?? []), ...data.map((row) => ({ ...row, entry: noun }))]
      setRead((known) => ({ ...known, [noun]: { rows, cursor: meta.page.nextCursor } }))
    })
    for (const page of await Promise.allSettled(pages))
      if (page.status === 'rejected') setFailure(page.reason)
    setReading(false)
  }
  const rows = kinds
    .flatMap(({ noun }) => read[noun]?.rows ?? [])
    .filter(({ timestampUnix }) => timestampUnix >= fromUnix)
  return { rows, calls: next.length, isReading, failure, more }
}

/**
 * The lists to read next, and the time from which on all have been read: before it, entries of a list that goes on
 * would be missing between those of the others.
 */
function progressOf(kinds: readonly EventCard[], read: Readonly<Record<string, Read>>) {
  const unread = kinds.filter(({ noun }) => read[noun] === undefined)
  if (unread.length > 0) return { next: unread, fromUnix: Number.POSITIVE_INFINITY }
  const open = kinds.filter(({ noun }) => read[noun]?.cursor !== null)
  const endOf = ({ noun }: EventCard) => read[noun]?.rows.at(-1)?.timestampUnix ?? 0
  const fromUnix = Math.max(0, ...open.map(endOf))
  return { next: open.filter((each) => endOf(each) === fromUnix), fromUnix }
}
