import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { BlockClock } from '#chains/chain/block-clock.ts'
import type { ChainSource, HistoryPart, HistoryRequest } from '#chains/chain/chain-source.ts'
import { LogColumns, PLACE } from '#chains/chain/columns/log-columns.ts'
import { NO_PAIR, PairTable } from '#chains/chain/columns/pair-table.ts'
import type { BlockHeader } from '#domain/chain.ts'
import type { AnyDataset } from '../dataset.ts'
import type { Segment } from '../segment.ts'
import { type ReadInput, readSegments } from './read-segments.ts'

const CHAIN = 1
const PARTS = 6
const BLOCKS = 10

const dataset: AnyDataset = {
  name: 'made-up',
  builtFrom: () => [],
  selectors: [{ chainId: CHAIN, address: `0x${'a'.repeat(40)}`, topic0: `0x${'b'.repeat(64)}` }],
  stage: () => ({
    size: 0,
    takeLogs: () => undefined,
    takeColumns: () => undefined,
    seal: () => undefined,
    apply: async () => undefined,
  }),
  revert: async () => undefined,
}

/** What happened, in order. */
let told: string[]
/** Headers of these are only given when they are let go. */
let held: Map<number, PromiseWithResolvers<void>>
/** How many there are, and whether each has a log, in its last block. */
let parts: { readonly count: number; readonly haveLogs: boolean }
beforeEach(() => {
  told = []
  parts = { count: PARTS, haveLogs: false }
  held = new Map()
  hangsFrom = Number.POSITIVE_INFINITY
  allAskedFrom = Number.POSITIVE_INFINITY
  fails = Number.POSITIVE_INFINITY
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

/** Parts from this one on only come when the reading ends. */
let hangsFrom = Number.POSITIVE_INFINITY

/** What begins at this block cannot be read. */
let fails = Number.POSITIVE_INFINITY

/** When a part is given from this one on, nothing is left to be asked for. */
let allAskedFrom = Number.POSITIVE_INFINITY

function columnsOf(block: number): LogColumns {
  const hashAt = 8
  const body = Buffer.alloc(parts.haveLogs ? 400 : 0)
  const columns = new LogColumns(CHAIN, new PairTable([]), body)
  if (!parts.haveLogs) return columns
  body.write(block.toString(16).padStart(64, '0'), hashAt, 'latin1')
  columns.count = 1
  columns.pair[0] = NO_PAIR
  columns.blockNumber[0] = block
  columns.timestamp[0] = block
  columns.places[PLACE.blockHash] = hashAt
  return columns
}

async function* history({ signal, ...request }: HistoryRequest): AsyncIterable<HistoryPart> {
  const { from } = request
  try {
    if (from > 0) told.push(`began ${from}`)
    for (let part = from / BLOCKS; part * BLOCKS <= request.to; part += 1) {
      if (part >= allAskedFrom) request.onAllAsked?.()
      if (part >= hangsFrom)
        await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      signal?.throwIfAborted()
      if (part * BLOCKS === fails) throw new Error('out of reach')
      const to = (part + 1) * BLOCKS - 1
      yield { from: part * BLOCKS, to, columns: columnsOf(to), end: undefined, host: 'node' }
    }
  } finally {
    told.push('stopped')
  }
}

/** Each answer is a segment of its own. */
function segments(more: Partial<ReadInput> = {}): AsyncIterator<Segment> {
  const source: Partial<ChainSource> = {
    chainId: CHAIN,
    header,
    history,
  }
  const deps = {
    source: source as ChainSource,
    clock: () => 0,
    blockClock: new BlockClock({ header }),
    onRead: ({ number }: { readonly number: number }) => void told.push(`read ${number}`),
  }
  const input: ReadInput = {
    ...{ from: 0, folds: new Map() },
    phases: [{ to: parts.count * BLOCKS - 1, datasets: [dataset] }],
    isStoring: () => false,
    isWanted: () => true,
    drain: () => undefined,
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

test('one segment is read while another is proven, no more, and each is handed over in its turn', async () => {
  const gate = hold(9)
  const reading = segments()
  const first = reading.next()
  await quiet()
  assert.deepEqual(told, ['read 9', 'read 19'])
  gate.resolve()
  assert.equal((await first).value.end.number, 9)
  assert.deepEqual(await rest(reading), [19, 29, 39, 49, 59])
})

const half = (PARTS / 2) * BLOCKS
const halves = [half - 1, PARTS * BLOCKS - 1].map((to) => ({ to, datasets: [dataset] }))

test('a phase is begun when nothing of the one before is left to be asked for, and comes in its turn', async () => {
  allAskedFrom = 1
  const reading = segments({ phases: halves })
  assert.deepEqual(await rest(reading), [9, 19, 29, 39, 49, 59])
  const both = told.filter((each) => each === `began ${half}` || each === 'read 29')
  assert.deepEqual(both, [`began ${half}`, 'read 29'])
})

test('a phase that was begun ends with the reading, though nobody came to it', async () => {
  allAskedFrom = 0
  hangsFrom = 3
  const reading = segments({ phases: halves })
  await reading.next()
  await reading.return?.()
  await quiet()
  assert.deepEqual(told.filter((each) => each === 'stopped').length, 2, told.join())
})

test('a phase that cannot be read fails in its turn, after all of the one before', async () => {
  allAskedFrom = 0
  fails = half
  const reading = segments({ phases: halves })
  for (const end of [9, 19, 29]) assert.equal((await reading.next()).value.end.number, end)
  await assert.rejects(reading.next(), /out of reach/)
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

test('what is folded is drained where its segment ends, before anything of the next is read', async () => {
  const drain = (number: number) => void told.push(`drained ${number}`)
  await rest(segments({ drain: (number) => drain(number) as undefined }))
  const wanted = [9, 19, 29, 39, 49, 59].flatMap((end) => [`read ${end}`, `drained ${end}`])
  assert.deepEqual(told, [...wanted, 'stopped'])
})

test('a node that is proven wrong is told before what its logs came to', async () => {
  const drain = () => {
    throw new Error('cannot be drained')
  }
  await assert.rejects(segments({ drain }).next(), /cannot be drained/)
  hold(9).reject(new Error('not on this branch'))
  await assert.rejects(segments({ drain }).next(), /not on this branch/)
})

test('nothing is read any more once the reader has gone, even while a proof is under way', async () => {
  hold(19)
  const reading = segments()
  await reading.next()
  await quiet()
  await reading.return?.()
  const before = [...told]
  await quiet()
  assert.deepEqual(told, before)
  assert.equal(told.at(-1), 'stopped')
})
