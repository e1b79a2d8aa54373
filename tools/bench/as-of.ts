import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { registerMigrations } from '#datasets/datasets.ts'
import { rank, readLeadersBefore } from '#datasets/grave-digs/queries.ts'
import type { Cut } from '#indexer/cut.ts'
import { accountsAfter, accountsUpTo } from '#indexer/events/accounts-at.ts'
import type { EventFact } from '#indexer/events/event.ts'
import { storeEvents } from '#indexer/events/store-events.ts'
import { sumTotals, sumWindows } from '#indexer/events/sum-windows.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'

/** How long sums and rankings as of a block take, by how far back the block is. */

const { values } = parseArgs({ options: { digs: { type: 'string', default: '1000000' } } })
const digs = Number(values.digs)
const accounts = 50_000
const chainId = 8453
const dataset = 'grave-digs'
const asked = { dataset, token: 'GRAVE' }

const folder = mkdtempSync(join(tmpdir(), 'sexton-as-of-'))
const engine = openSqlite({ file: join(folder, 'register.sqlite'), durability: 'normal' })
await engine.migrate(registerMigrations)
for (let from = 0; from < digs; from += 20_000) await store(engine, from)
for (const share of [0.01, 0.25, 0.5, 0.9, 0.999]) {
  const number = Math.floor(share * (digs - 1))
  const cut: Cut = new Map([[chainId, { number, unix: unixOf(number) }]])
  const sums = await time(() => engine.snapshot((reads) => sumsAt(reads, cut)))
  const ranking = await time(() => engine.snapshot((reads) => rankAtOnce(reads, cut)))
  const pages = { longestMs: 0 }
  const inPages = await time(async () =>
    rank(await accountsUpTo(paged(pages), { ...asked, cut }), 10),
  )
  process.stdout.write(
    `${share}: sums ${sums} ms, ranking at once ${ranking} ms, in pages ${inPages} ms (longest ${pages.longestMs.toFixed(1)} ms)\n`,
  )
}
await engine.close()
rmSync(folder, { recursive: true })

/** Two years. */
function unixOf(index: number): number {
  return 1_700_000_000 + Math.floor((index / digs) * 730 * 86_400)
}

async function store(register: Engine, from: number): Promise<void> {
  const facts = Array.from({ length: Math.min(20_000, digs - from) }, (_, at) => factOf(from + at))
  const change = {
    ...{ chainId, finalizedNumber: 0, isOlder: false, priceMoved: () => undefined },
    valuesOf: async () => facts.map(() => 1n),
  }
  await register.write((connection) =>
    storeEvents({ ...change, connection }, { name: dataset, byAccount: true }, facts),
  )
}

function factOf(index: number): EventFact {
  const hash = `0x${index.toString(16).padStart(64, '0')}` as const
  const log = {
    chainId,
    blockNumber: index,
    blockHash: hash,
    txHash: hash,
    txIndex: 0,
    logIndex: 0,
  }
  const digger = (index * 7_919 + (index % 97) * 31) % accounts
  return {
    log: { ...log, timestamp: unixOf(index) },
    ...{ kind: 'dig', token: 'GRAVE', detail: null, counted: true },
    account: `0x${digger.toString(16).padStart(40, '0')}`,
    amount: BigInt(1 + (index % 1_000)) * 10n ** 18n,
  }
}

async function sumsAt(reads: Connection, cut: Cut) {
  await sumTotals(reads, dataset, cut)
  const [[, block] = []] = cut
  return sumWindows(reads, { dataset, asOfUnix: block?.unix ?? 0, cut })
}

async function rankAtOnce(reads: Connection, cut: Cut) {
  const later = await accountsAfter(reads, { ...asked, cut })
  return later && readLeadersBefore(reads, { token: 'GRAVE', limit: 10 }, { cut, later })
}

function paged(pages: { longestMs: number }): Connection {
  const refused = () => Promise.reject(new Error('nothing is written'))
  return {
    async run(statement) {
      const begunMs = performance.now()
      const rows = await engine.read(statement)
      pages.longestMs = Math.max(pages.longestMs, performance.now() - begunMs)
      return rows
    },
    insert: refused,
    call: refused,
  }
}

async function time(work: () => Promise<unknown>): Promise<string> {
  await work()
  const begunMs = performance.now()
  await work()
  return (performance.now() - begunMs).toFixed(1)
}
