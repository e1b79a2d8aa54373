import { Type } from 'typebox'
import { isRefusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { getAnswerCache } from '#data/data-route.ts'
import { kindLists } from '#data/endpoints.ts'
import { eventProperties } from '#data/event-lists.ts'
import { nullable, priceNumber, priceText } from '#data/meta.ts'
import { readFeedState } from '#index/feed.ts'
import { defineRoute, type Route } from '#route.ts'
import { followFeed } from './follow-feed.ts'
import { eventIdParameter, filterParameters, KINDS, readLastEventId } from './stream-parameters.ts'

const priceRow = named('PriceChange', {
  token: Type.String(),
  usd: nullable(priceNumber),
  usdExact: nullable(priceText),
  ...Object.fromEntries(
    Object.entries(eventProperties).map(([name, schema]) => [name, Type.Optional(schema)]),
  ),
})

const streamEvent = named('StreamEvent', {
  kind: Type.Enum([...KINDS]),
  row: Type.Union([...kindLists.map(({ row }) => row), priceRow]),
})

const description = `Server-sent events, in the order in which the index stored them. \
\`ready\` comes first. \`add\`, \`update\` (a dollar value) and \`retract\` (a reorg, newest first) carry \
\`{kind, row}\` with the row as the lists show it and an \`id\` that is unique within its kind; \`finalized\` says up \
to which block of a chain nothing will be retracted; \`reset\` says which blocks of a chain (all where null) changed \
otherwise: read the lists again. Open the stream, then read the lists, then apply the events: \`add\` and \
\`update\` set a row by its id, \`retract\` removes it. A client that reconnects with the \`id\` of the last event \
(\`Last-Event-ID\`, or the parameter \`lastEventId\` or \`cursor\`) gets exactly what it missed; changes are kept \
for seven days. Each started minute costs one \
call, the first on opening; \`end\` says why the server ended the stream.`

/** Half of all connections; the rest stay for calls. */
const STREAMS_MAX = 5_000

/** Limit per address, and per wallet. */
const PER_CALLER_MAX = 50

/** Callers with an open stream fill at most this share; the rest is for callers without one. */
const SHARED_PART = 0.9

/** `streamsMax` is the limit of this process. */
export function streamRoute(ctx: Context, streamsMax = STREAMS_MAX): Route {
  const streams = new OpenStreams(streamsMax)
  return defineRoute({
    method: 'GET',
    path: '/api/stream',
    operationId: 'streamChanges',
    tag: 'Stream',
    summary: 'Changes as they happen',
    description,
    metered: true,
    stream: true,
    parameters: {
      ...filterParameters(ctx.ecosystem),
      cursor: eventIdParameter,
      lastEventId: eventIdParameter,
    },
    answers: { 200: { description: 'An open stream', schema: streamEvent } },
    refusals: ['invalid_cursor', 'data_not_ready'],
    check({ headers }) {
      const cursor = readLastEventId(headers)
      return isRefusal(cursor) ? cursor : undefined
    },
    async handle({ parameters, headers, caller, call: { addressBucket } }) {
      const cursor = readLastEventId(headers) ?? parameters.lastEventId ?? parameters.cursor
      if (isRefusal(cursor)) return cursor
      const state = await getAnswerCache(ctx).state()
      const feed = await ctx.register.snapshot(readFeedState)
      if (state === undefined || feed === undefined) return NOT_LIVE
      const wallet = caller.kind === 'keyed' ? [`wallet:${caller.wallet}`] : []
      const names = [`ip:${addressBucket}`, ...wallet]
      if (streams.isFull(names)) return FULL
      const { cursor: _, lastEventId: __, ...filter } = parameters
      const open = (signal: AbortSignal) =>
        streams.counted(names, followFeed(ctx, { after: cursor, filter }, signal))
      return { kind: 'stream', contentType: 'text/event-stream; charset=utf-8', open }
    },
  })
}

const NOT_LIVE = refuse(
  'data_not_ready',
  'No chain has been read up to its head yet; try again soon.',
  { retryAfterSeconds: 2 },
)

const FULL = refuse(
  'data_not_ready',
  'too many open streams, of yours or of this server; close one or try again later',
  { retryAfterSeconds: 60 },
)

/** Counts the open streams of this process, by address and wallet. */
class OpenStreams {
  readonly #max: number
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(max: number) {
    this.#max = max
  }

  isFull(names: readonly string[]): boolean {
    const own = Math.max(...names.map((name) => this.#counts.get(name) ?? 0))
    const max = own === 0 ? this.#max : Math.ceil(this.#max * SHARED_PART)
    return own >= PER_CALLER_MAX || this.#total >= max
  }

  async *counted(names: readonly string[], stream: AsyncIterable<string>): AsyncGenerator<string> {
    this.#count(names, 1)
    try {
      yield* stream
    } finally {
      this.#count(names, -1)
    }
  }

  #count(names: readonly string[], by: 1 | -1): void {
    this.#total += by
    for (const name of names) {
      const count = (this.#counts.get(name) ?? 0) + by
      if (count === 0) this.#counts.delete(name)
      else this.#counts.set(name, count)
    }
  }
}
