import { type FeedHub, PAGE } from './feed-hub.ts'
import { eventText, matches, type Shown } from './feed-rows.ts'
import type { Cursor, Filter } from './stream-parameters.ts'

/** Proxies close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000

/** How soon a client that lost its connection tries again. */
const RETRY_MS = 2_000

/**
 * Server-sent events (WHATWG HTML, 9.2) after a cursor, or from now on. Each yield is at most half a
 * second after the last; empty text means nothing new.
 */
export async function* follow(
  hub: FeedHub,
  { after, filter }: { readonly after: Cursor | undefined; readonly filter: Filter },
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (signal.aborted) return
  hub.enter(signal)
  try {
    await hub.refresh()
    let at = after ?? cursorAtEnd(hub)
    yield `retry: ${RETRY_MS}\n${withId(eventText('open', {}), at)}`
    let wroteMs = hub.clock()
    while (!signal.aborted) {
      const news = hub.news()
      const page = isKept(hub, at) ? await hub.after(at.sequence) : undefined
      if (page === undefined) {
        await hub.refresh()
        if (isKept(hub, at)) continue
        at = cursorAtEnd(hub)
        yield withId(eventText('reset', { reason: 'read the lists again' }), at)
      } else if (page.length === 0) {
        await news
        const isDue = Math.abs(hub.clock() - wroteMs) >= HEARTBEAT_MS
        yield isDue ? withId(':\n', at) : ''
        if (!isDue) continue
      } else {
        const { epoch } = at
        yield* pageTexts(hub, { page, epoch, filter })
        at = { epoch, sequence: page.at(-1)?.change.sequence ?? at.sequence }
      }
      wroteMs = hub.clock()
    }
  } finally {
    hub.leave(signal)
  }
}

function cursorAtEnd({ state }: FeedHub): Cursor {
  return { epoch: state?.epoch ?? '', sequence: state?.last ?? 0 }
}

function isKept({ state }: FeedHub, { epoch, sequence }: Cursor): boolean {
  if (state === undefined) return false
  return state.epoch === epoch && sequence >= state.pruned && sequence <= state.last
}

export function showCursor({ epoch, sequence }: Cursor): string {
  return `${epoch}.${sequence}`
}

/** Ends the event. Without data it only moves the client's cursor. */
function withId(text: string, cursor: Cursor): string {
  return `${text}id: ${showCursor(cursor)}\n\n`
}

interface Page {
  readonly page: readonly Shown[]
  readonly epoch: string
  readonly filter: Filter
}

async function* pageTexts(hub: FeedHub, { page, epoch, filter }: Page): AsyncGenerator<string> {
  let text = ''
  for (const shown of page) {
    const { change } = shown
    if (shown.text === '' || !matches(filter, shown)) continue
    if (filter.finality === 'finalized') {
      if (change.op === 'finalized') yield* finalTexts(hub, shown, filter)
      else if (change.op !== 'update' || !change.isFinal) continue
    }
    text += withId(shown.text, { epoch, sequence: change.sequence })
  }
  if (text !== '') yield text
}

/** Without ids: a reader that is cut off in between gets all of them again. */
async function* finalTexts(hub: FeedHub, of: Shown, filter: Filter): AsyncGenerator<string> {
  const final = (await hub.final(of)).filter((each) => each.text !== '' && matches(filter, each))
  for (let from = 0; from < final.length; from += PAGE)
    yield final
      .slice(from, from + PAGE)
      .map(({ text }) => `${text}\n`)
      .join('')
}
