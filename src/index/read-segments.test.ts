import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { BlockHeader } from '#base/chain.ts'
import { BlockClock } from '#chain/block-clock.ts'
import type { ChainSource, HistoryPart, HistoryRequest } from '#chain/chain-source.ts'
import type { AnyDataset } from './dataset.ts'
import { type ReadInput, readSegments, type Segment } from './read-segments.ts'

const CHAIN = 1
const PARTS = 6
const BLOCKS = 10

const dataset: AnyDataset = {
  name: 'made-up',
  selectors: [{ chainId: CHAIN, address: `0x${'a'.repeat(40)}`, topic0: `0x${'b'.repeat(64)}` }],
  stage: () => ({
    take: () => undefined,
    apply: async () => undefined,
  }),
  revert: async () => undefined,
}

/** What happened, in order. */
let told: string[]
/** Headers of these are only given when they are let go. */
let held: Map<number, PromiseWithResolvers<void>>
beforeEach(() => {
  told = []
  held = new Map()
  hangsFrom = Number.POSITIVE_INFINITY
})

function hold(block: number): PromiseWithResolvers<void> {
  const gate = Promise.withResolvers<void>()
  held.set(block, gate)
  return gate
}

async function header(block: unknown): Promise<BlockHeader> {
  assert.ok(typeof block === 'number')
  await held.get(block)?.promise
  const hash = `0x${block.toString(16).padStart(64, '0')}` as const
  return { number: block, hash, parentHash: '0x', timestamp: block, logsBloom: '0x' }
}

/** Matches no block. */
const NO_END = { number: -1, hash: '0x' } as const

/** Parts from this one on only come when the reading ends. */
let hangsFrom = Number.POSITIVE_INFINITY

async function* history({ signal, ...request }: HistoryRequest): AsyncIterable<HistoryPart> {
  const { from } = request
  try {
    for (let part = from / BLOCKS; part * BLOCKS <= request.to; part += 1) {
      if (part >= hangsFrom)
        await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      signal?.throwIfAborted()
      const to = (part + 1) * BLOCKS - 1
      yield { from: part * BLOCKS, to, logs: [], bytes: 0, end: NO_END, host: 'node' }
    }
  } finally {
    told.push('stopped')
  }
}

/** Each answer is a segment of its own, since seconds pass with each. */
function segments(more: Partial<ReadInput> = {}): AsyncIterator<Segment> {
  const source: Partial<ChainSource> = {
    chainId: CHAIN,
    header,
    history,
  }
  let now = 0
  const deps = {
    source: source as ChainSource,
    clock: () => (now += 5_000),
    blockClock: new BlockClock({ header }),
    onRead: ({ number }: { readonly number: number }) => void told.push(`read ${number}`),
  }
  const input: ReadInput = {
    ...{ from: 0, to: PARTS * BLOCKS - 1, datasets: [dataset], hoursFromUnix: 0 },
    ...more,
  }
  return readSegments(deps, input)[Symbol.asyncIterator]()
}

/** Everything that can happen without an answer has happened. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate()
}

async function rest(reading: AsyncIterator<Segment>): Promise<readonly number[]> {
  const ends: number[] = []
  for (let next = await reading.next(); next.done !== true; next = await reading.next())
    ends.push(next.value.end.number)
  return ends
}

test('one segment is read while another is stored, no more, and each is handed over in its turn', async () => {
  const reading = segments()
  assert.equal((await reading.next()).value.end.number, 9)
  await quiet()
  assert.deepEqual(told, ['read 9', 'read 19'])
  assert.deepEqual(await rest(reading), [19, 29, 39, 49, 59])
})

test('what was read after a segment that cannot be proven is never handed over', async () => {
  const gate = hold(19)
  const reading = segments()
  assert.equal((await reading.next()).value.end.number, 9)
  const second = reading.next()
  await quiet()
  gate.reject(new Error('not on this branch'))
  await assert.rejects(second, /not on this branch/)
  assert.deepEqual(await reading.next(), { done: true, value: undefined })
  await quiet()
  assert.equal(told.at(-1), 'stopped')
  assert.ok(!told.includes('read 49'), told.join())
})

test('a reading that nobody wants any more ends while it waits for an answer', async () => {
  hangsFrom = 1
  const stop = new AbortController()
  const reading = segments({ signal: stop.signal })
  assert.equal((await reading.next()).value.end.number, 9)
  const second = reading.next()
  await quiet()
  assert.ok(!told.includes('stopped'))
  stop.abort(new Error('begun anew'))
  await assert.rejects(second, /begun anew/)
  assert.equal(told.at(-1), 'stopped')
})
