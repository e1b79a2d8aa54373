import { type FeedCursor, showCursor } from '#chains/indexer/feed/cursor.ts'
import { readEnd } from '#chains/indexer/feed/read-feed.ts'
import type { Context } from '#context.ts'
import { feedOf } from './feed-hub.ts'
import { eventText, pageText, WHOLE, withId } from './feed-rows.ts'
import type { Seat } from './seats.ts'
import type { Filter } from './stream-parameters.ts'

/** Proxies close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000

/** How long a cursor may be unknown: a standby lags, or lost what the cursor names. */
const AHEAD_MAX_MS = 30_000

/**
 * Writes server-sent events (WHATWG HTML, 9.2) after a cursor, or from now on. Each yield is at most half a
 * second after the last; empty text means nothing new.
 */
export async function* follow(
  ctx: Context,
  input: { readonly after: FeedCursor | undefined; readonly filter: Filter; readonly seat: Seat },
  signal: AbortSignal,
): AsyncGenerator<string | Buffer> {
  const { after, filter, seat } = input
  const { clock } = ctx
  const hub = feedOf(ctx)
  if (signal.aborted) return seat.leave()
  seat.occupy(signal)
  hub.enter(signal)
  try {
    let at = after ?? (await endOf(ctx))
    yield `retry: ${seat.retryMs}\n${withId(eventText('ready', '{}'), at)}`
    let wroteMs = clock()
    let aheadMs: number | undefined
    while (!signal.aborted) {
      const news = hub.news()
      const page = await hub.pages.page(at, filter.finality)
      if (page === 'ahead') aheadMs ??= clock()
      else aheadMs = undefined
      const isLost = Math.abs(clock() - (aheadMs ?? clock())) >= AHEAD_MAX_MS
      let text: string | Buffer = ''
      if (page === 'gone' || isLost) {
        at = await endOf(ctx)
        aheadMs = undefined
        text = withId(eventText('reset', JSON.stringify(WHOLE)), at)
      } else if (page === 'ahead') await news
      else {
        text = pageText(page, filter)
        const isEnd = showCursor(page.next) === showCursor(at)
        at = page.next
        if (isEnd) await news
      }
      const isDue = Math.abs(clock() - wroteMs) >= HEARTBEAT_MS
      if (text === '' && isDue) text = withId(':\n', at)
      yield text
      if (text !== '') wroteMs = clock()
    }
  } finally {
    hub.leave(signal)
    seat.leave()
  }
}

async function endOf({ register }: Context): Promise<FeedCursor> {
  return (await register.snapshot(readEnd)) ?? { epoch: '0'.repeat(12), sequence: 0, hash: '' }
}
