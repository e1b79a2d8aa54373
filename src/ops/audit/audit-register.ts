import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unixNow } from '#base/time.ts'
import { impossibleBurns } from '#data/burns/dataset.ts'
import { allDatasets, registerMigrations } from '#data/datasets.ts'
import { openPriceBook } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { compareRegisters } from '#index/compare-registers.ts'
import { Leader } from '#index/leader.ts'
import { type RebuildProgress, rebuildIndex } from '#index/rebuild.ts'
import {
  type ChainStatus,
  type IndexStatus,
  judgeCondition,
  readIndexStatus,
} from '#index/status.ts'
import { type AuditDeps, proveBalances } from './prove-balances.ts'

/** The first difference, or the chain with a reorg that the index has not followed yet. */
interface RegisterVerdict {
  readonly difference?: string
  readonly moved?: string
}

/**
 * Builds a second index up to the indexed blocks in a temporary file, compares row by row, and asks the token
 * contracts for balances and supplies.
 */
export function auditRegister(deps: AuditDeps): Promise<RegisterVerdict> {
  return deps.register.snapshot(async (stored) => {
    const status = await readIndexStatus(stored, deps.ecosystem.chains)
    if (status === undefined)
      return { difference: 'this ecosystem file has no register yet: run "sexton build" first' }
    const nowUnix = unixNow(deps.clock)
    const syncing = status.chains.find((each) => judgeCondition(each, nowUnix) === 'syncing')
    if (syncing !== undefined)
      return {
        difference: `${syncing.chain.name} is still being read; audit again once /readyz reports it live`,
      }
    const left = await leftChain(deps, status)
    if (left !== undefined) return { moved: left }
    const state = { connection: stored, dialect: deps.register.dialect }
    const difference =
      (await provePositions(deps, stored, status)) ??
      (await proveBalances(deps, state, status)) ??
      (await impossibleBurns(stored, deps.ecosystem.tokens))[0]?.detail ??
      (await compareWithRebuilt(deps, stored, status))
    if (difference === undefined) return {}
    const moved = await leftChain(deps, status)
    return moved === undefined ? { difference } : { moved }
  })
}

async function leftChain(deps: AuditDeps, status: IndexStatus): Promise<string | undefined> {
  for (const { chain, blockNumber, blockHash } of status.chains) {
    const header = await deps.sourceOf(chain).header(blockNumber)
    if (header?.hash !== blockHash) return chain.name
  }
  return undefined
}

async function compareWithRebuilt(
  deps: AuditDeps,
  stored: Connection,
  status: IndexStatus,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-audit-'))
  const engine = openSqlite({
    file: join(folder, 'register.sqlite'),
    durability: 'normal',
    bulk: true,
  })
  try {
    await engine.migrate(registerMigrations)
    const leader = new Leader({ engine, name: 'index' })
    await leader.take()
    const { ecosystem, clock, sourceOf } = deps
    const [datasets, prices] = [allDatasets(ecosystem), openPriceBook(ecosystem.tokens)]
    const onProgress = ({ chain, done, total }: RebuildProgress) =>
      deps.onProgress({ task: `reading ${chain}`, done, total })
    const building = { engine, clock, leader, datasets, prices, sourceOf, onProgress }
    await rebuildIndex(building, stored, status.chains)
    const difference = await engine.snapshot((recomputed) =>
      compareRegisters(
        { connection: stored, dialect: deps.register.dialect },
        { connection: recomputed, dialect: engine.dialect },
        ({ table, rows, isDone }) => {
          if (isDone) deps.note(`${table}: ${rows} rows equal a fresh index`)
          else deps.onProgress({ task: `comparing ${table}`, done: rows, total: rows })
        },
      ),
    )
    if (difference === undefined) return undefined
    const { table, key, column } = difference
    return `${table} ${key}: ${column} is ${difference.stored}, the chain gives ${difference.recomputed}`
  } finally {
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Checks chains, timestamps, that finalized ≤ safe ≤ position, and an unbroken line of blocks between them; returns
 * the first difference.
 */
async function provePositions(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note'>,
  stored: Connection,
  status: IndexStatus,
): Promise<string | undefined> {
  const known = new Set(deps.ecosystem.chains.map((chain) => chain.id))
  const found = await stored.run(sql`select chain_id from positions order by chain_id`)
  const stranger = found.find((row) => !known.has(column.integer(row, 'chain_id')))
  if (stranger !== undefined) return `positions: chain ${stranger.chain_id} is not in the file`
  for (const each of status.chains) {
    const difference = (await proveMarks(deps, each)) ?? (await proveBlocks(deps, stored, each))
    if (difference !== undefined) return difference
  }
  return undefined
}

async function proveMarks(
  deps: Pick<AuditDeps, 'sourceOf'>,
  status: ChainStatus,
): Promise<string | undefined> {
  const { chain, blockNumber, safeNumber, finalizedNumber } = status
  const header = await deps.sourceOf(chain).header(blockNumber)
  if (header?.timestamp !== status.blockTimeUnix)
    return `${chain.name}: block ${blockNumber} has timestamp ${header?.timestamp}, the register has ${status.blockTimeUnix}`
  if (finalizedNumber > safeNumber || safeNumber > blockNumber)
    return `${chain.name}: finalized ${finalizedNumber}, safe ${safeNumber} and position ${blockNumber} are out of order`
  return undefined
}

async function proveBlocks(
  deps: Pick<AuditDeps, 'sourceOf' | 'note'>,
  stored: Connection,
  status: ChainStatus,
): Promise<string | undefined> {
  const { chain, blockNumber, finalizedNumber } = status
  const found = await stored.run(sql`
    select number, hash, parent_hash from blocks where chain_id = ${chain.id} order by number`)
  const source = deps.sourceOf(chain)
  const headers = await Promise.all(
    found.map((row) => source.header(column.integer(row, 'number'))),
  )
  for (const [index, row] of found.entries()) {
    const header = headers[index]
    if (row.hash !== header?.hash || row.parent_hash !== header?.parentHash)
      return `${chain.name}: the stored block ${row.number} is ${row.hash}, the chain has ${header?.hash}`
  }
  const first = Math.max(finalizedNumber, chain.startBlock)
  const expected = blockNumber - first + 1
  if (found.length < expected || found[0]?.number !== blockNumber - found.length + 1)
    return `${chain.name}: only ${found.length} of the blocks ${first} to ${blockNumber} are stored`
  deps.note(`${chain.name}: position, marks and ${found.length} stored blocks match the chain`)
  return undefined
}
