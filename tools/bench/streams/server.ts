import { startStreamWorld } from '#test/feed/stream-world.ts'

/** What the benchmark asks of the process that serves. */
export type Ask =
  | { readonly do: 'burn'; readonly count: number }
  | { readonly do: 'memory' }
  | { readonly do: 'calls' }
  | { readonly do: 'end' }

export interface Reply {
  readonly origin?: string
  readonly secret?: string
  readonly blockMs?: number
  readonly committedMs?: number
  readonly rss?: number
  readonly open?: number
  readonly calls?: number
}

const TICK_MS = 250

const world = await startStreamWorld()
const { publicId, secret } = await world.access.mint()
await world.access.fund(publicId, 10_000_000n)
const ticking = setInterval(() => {
  world.access.now.ms += TICK_MS
}, TICK_MS)
const reply = (answer: Reply) => process.send?.(answer)

process.on('message', async (ask: Ask) => {
  if (ask.do === 'burn') {
    const blockMs = Date.now()
    await world.burn(ask.count)
    reply({ blockMs, committedMs: Date.now() })
  }
  if (ask.do === 'memory') {
    globalThis.gc?.()
    reply({ rss: process.memoryUsage.rss(), open: world.open.count })
  }
  if (ask.do === 'calls') {
    const { access } = world.access
    const caller = await access.identify({ authorization: `Bearer ${secret}` }, '192.0.2.1')
    const figures = caller.kind === 'keyed' ? await access.meter.figures(caller) : undefined
    reply({ calls: figures?.requestCount ?? 0 })
  }
  if (ask.do === 'end') {
    clearInterval(ticking)
    await world.end()
    process.disconnect?.()
  }
})
reply({ origin: world.origin, secret })
