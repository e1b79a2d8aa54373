import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { allDatasets, registerMigrations } from '#chains/datasets/datasets.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { ChainIndex, type ChainIndexDeps } from '#chains/indexer/chain-index.ts'
import type { AnyDataset, HistoryFold } from '#chains/indexer/dataset.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { beginChain } from './chain-builder/built-chain.ts'
import { type LivelyBlock, live } from './chain-builder/random-life.ts'
import { type ServedChain, serveChain } from './chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from './indexed-ecosystem.ts'
import { commitDepsOf, differenceOf } from './stepped-index.ts'

let folder: string
let files = 0

/** A folder for the stores that tests of a file begin. */
export function useFolder(): void {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  })
  after(() => rmSync(folder, { recursive: true }))
}

export function digsOf(days: number): readonly LivelyBlock[] {
  return Array.from({ length: days }, () => ({ secondsApart: 86_400, deeds: [mint, dig] }))
}

/**
 * Indexes slowly, storing what is folded whenever it can; once, when so many logs are folded, it cannot be
 * drained. Gives the failures, and how many logs were folded in all.
 */
export async function drainedUntil(ecosystem: Ecosystem, failAt: number) {
  let mostTaken = 0
  let hasFailed = false
  const datasets = allDatasets(ecosystem).map((dataset): AnyDataset => {
    const { openHistory } = dataset
    if (openHistory === undefined) return dataset
    const openFailing = (...given: Parameters<typeof openHistory>): HistoryFold => {
      const fold = openHistory(...given)
      let taken = 0
      return {
        ...fold,
        take(columns, unreadable) {
          taken += columns.count
          mostTaken = Math.max(mostTaken, taken)
          fold.take(columns, unreadable)
        },
        drain() {
          if (taken === failAt && !hasFailed) {
            hasFailed = true
            throw new Error('cannot be drained')
          }
          return fold.drain()
        },
      }
    }
    return { ...dataset, openHistory: openFailing }
  })
  const around = { write: () => sleep(30), lookMs: () => 0 }
  const { engine, index } = await begin(ecosystem, { datasets, flushEveryMs: 0 }, around)
  const failures = await stepsUntilComplete(index, 400)
  return { engine, failures, taken: mostTaken }
}

/** Drives the index in spite of failures, and gives these. */
export async function stepsUntilComplete(
  index: ChainIndex,
  stepsMax: number,
): Promise<readonly string[]> {
  const failures: string[] = []
  for (let step = 0; step < stepsMax; step += 1) {
    const isDone = await isComplete(index).catch((error: unknown) => void failures.push(`${error}`))
    if (isDone === true) return failures
  }
  return [...failures, 'never settled']
}

/** Reads older history until it ends, fails again and again, or goes nowhere. */
export async function readWhileItGoes(index: ChainIndex): Promise<void> {
  for (let step = 0, failures = 0; step < 60 && failures < 3; step += 1) {
    const more = await index.readOlder().catch(() => undefined)
    if (more === undefined) failures += 1
    else if (!more) return
  }
}

export async function equalsPlain(
  node: ServedChain,
  ecosystem: Ecosystem,
  own: { readonly engine: Engine; readonly index: ChainIndex },
): Promise<void> {
  while (!(await isComplete(own.index)));
  const plain = await indexedInOrder(node, ecosystem)
  assert.equal(await differenceOf(plain, own.engine), undefined)
  await Promise.all([plain.close(), own.engine.close()])
}

/** The same facts without the quick way through history, from the first block on. */
export async function indexedInOrder(node: ServedChain, ecosystem: Ecosystem): Promise<Engine> {
  const whole = node.chain
  const datasets = allDatasets(ecosystem).map(({ openHistory: _, ...dataset }) => dataset)
  const { engine, index } = await begin(ecosystem, { datasets })
  node.chain = whole.fork(0)
  while (!(await isComplete(index)));
  node.chain = whole
  while (!(await isComplete(index)));
  return engine
}

export const mint = { kind: 'mint', who: 1, whom: 2, size: 50 } as const
export const MINTED = 50n * 10n ** 18n
export const dig = { kind: 'dig', who: 1, whom: 2, size: 50 } as const

export async function onChain(
  blocks: readonly LivelyBlock[],
  work: (node: ServedChain, ecosystem: Ecosystem) => Promise<void>,
): Promise<void> {
  // The blocks on top are read one by one, so that all of the others are history.
  const chain = live(beginChain(8453, 1_700_000_000), 'base', blocks).addEmpty(64)
  const node = await serveChain(chain, { finalDepth: 4 })
  try {
    await work(node, localEcosystemAt({ base: node.url }))
  } finally {
    await node.stop()
  }
}

export function base(ecosystem: Ecosystem) {
  const chain = ecosystem.chains.find((each) => each.name === 'base')
  assert.ok(chain !== undefined)
  return chain
}

/** All that the stored balances come to, and what the stored supply says. */
export async function readSums(reads: Connection) {
  const [balances, minted, burned] = await Promise.all(
    [
      sql`select balance as amount from balances`,
      sql`select minted as amount from supply_buckets where grain = 'total'`,
      sql`select burned as amount from supply_buckets where grain = 'total'`,
    ].map(async (statement) =>
      (await reads.run(statement)).reduce((sum, row) => sum + column.bigint(row, 'amount'), 0n),
    ),
  )
  assert.ok(balances !== undefined && minted !== undefined && burned !== undefined)
  return { balances, supply: minted - burned }
}

/** What is done before each commit, before each of its statements and after it. */
export interface Around {
  write?: () => Promise<unknown>
  statement?: () => Promise<unknown>
  written?: () => void
  /** How far the clock goes with each look at it. */
  lookMs?: () => number
}

export async function begin(
  ecosystem: Ecosystem,
  change: Partial<ChainIndexDeps> = {},
  around: Around = {},
) {
  files += 1
  const engine = openSqlite({ file: join(folder, `${files}.sqlite`), durability: 'normal' })
  await engine.migrate(registerMigrations)
  // Each look at the clock is seconds later, so that every answer is a segment of its own.
  let now = Date.now()
  const clock = () => (now += around.lookMs?.() ?? 3_000)
  let writing: Promise<unknown> = Promise.resolve()
  const storeOf = (life: number): Engine => ({
    ...engine,
    async write(work) {
      await around.write?.()
      if (life !== lives) throw new Error('this process is dead')
      const written = engine.write((connection) =>
        work({
          async run(statement) {
            await around.statement?.()
            return connection.run(statement)
          },
          async insert(into, rows) {
            await around.statement?.()
            return connection.insert(into, rows)
          },
        }),
      )
      writing = written.catch(() => undefined)
      return written.finally(around.written)
    },
  })
  const source = openSource(base(ecosystem))
  const deps = { ...(await commitDepsOf(engine, ecosystem)), source, ...change }
  let lives = 0
  const open = () => {
    lives += 1
    const own = { clock, engine: storeOf(lives) }
    return new ChainIndex({ ...deps, ...own }, base(ecosystem))
  }
  /** A crash leaves a commit done or undone, never under way, and nothing begins after it. */
  const reopen = async () => {
    const index = open()
    await writing
    return index
  }
  return { engine, reopen, index: open() }
}

/** Indexes the chain; `kill` starts anew after every so many steps, as after a crash. */
export async function indexed(
  ecosystem: Ecosystem,
  how: { readonly kill?: number; readonly datasets?: readonly AnyDataset[] },
): Promise<Engine> {
  const { kill = Number.POSITIVE_INFINITY, datasets } = how
  const { engine, reopen, ...begun } = await begin(ecosystem, datasets && { datasets })
  let { index } = begun
  for (let step = 1; !(await isComplete(index)); step += 1)
    if (step % kill === 0) index = await reopen()
  return engine
}

export async function isComplete(index: ChainIndex): Promise<boolean> {
  const event = await index.followOnce()
  return !(await index.readOlder()) && event.kind === 'idle' && index.isComplete
}
