import { startStreamWorld } from '#test/feed/stream-world.ts'

/** What the benchmark asks of the process that serves. */
export type Ask =
  | { readonly do: 'burn'; readonly count: number }
  | { readonly do: 'memory' }
  | { readonly do: 'calls' }
  | { readonly do: 'end' }

export interface Reply {
  readonly origin?: string
  readonly secrets?: readonly string[]
  readonly blockMs?: number
  readonly committedMs?: number
  readonly rss?: number
  readonly open?: number
  readonly calls?: number
}

const TICK_MS = 250

/** A wallet has at most 50 streams. */
const KEYS = 100

const world = await startStreamWorld()
const secrets: string[] = []
for (let count = 0; count < KEYS; count += 1) {
  const { publicId, secret } = await world.callers.mint()
  await world.callers.fund(publicId, 10_000_000n)
  secrets.push(secret)
}
const ticking = setInterval(() => {
  world.callers.now.ms += TICK_MS
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
    let calls = 0
    for (const secret of secrets) calls += await callsOf(secret)
    reply({ calls })
  }
  if (ask.do === 'end') {
    clearInterval(ticking)
    await world.end()
    process.disconnect?.()
  }
})
reply({ origin: world.origin, secrets })

async function callsOf(secret: string): Promise<number> {
  const { metering } = world.callers
  const caller = await metering.identify({ authorization: `Bearer ${secret}` }, '192.0.2.1')
  const rateLimit = caller.kind === 'keyed' ? await metering.meter.rateLimit(caller) : undefined
  return rateLimit?.requestCount ?? 0
}
