import type { Position } from '#chain/chain-event.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/u256.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { ROWS_PER_STATEMENT, rows, type SqlValue, sql } from '#store/sql.ts'
import type { Change } from '../dataset.ts'
import { type Contribution, type EventFact, negated } from './event.ts'
import { foldEvents } from './fold-events.ts'

/** Stores events and folds them in, yet without dollar values: those follow once prices are known. */
export async function storeEvents(
  change: Change,
  dataset: string,
  facts: readonly EventFact[],
): Promise<void> {
  for (const part of chunks(facts, ROWS_PER_STATEMENT))
    await change.connection.run(sql`
      insert into events (dataset, chain_id, block_number, log_index, block_hash, tx_hash,
        timestamp_unix, kind, token, account, amount, detail, counted, valued)
      values ${rows(part.map((fact) => toRow(dataset, fact)))}`)
  const contributions = facts.filter((fact) => fact.counted).map(toContribution)
  await foldEvents(change.connection, dataset, contributions)
}

function toRow(dataset: string, fact: EventFact): readonly SqlValue[] {
  const { log } = fact
  return [
    dataset,
    log.chainId,
    log.blockNumber,
    log.logIndex,
    log.blockHash,
    log.txHash,
    log.timestamp,
    fact.kind,
    fact.token,
    fact.account,
    toStored(fact.amount),
    fact.detail,
    Number(fact.counted),
    0,
  ]
}

function toContribution(fact: EventFact): Contribution {
  return {
    chainId: fact.log.chainId,
    token: fact.token,
    account: fact.account,
    timestamp: fact.log.timestamp,
    sums: { amount: fact.amount, usd: 0n, events: 1, priced: 0 },
  }
}

/** Removes the events of blocks above the ancestor and folds their inverse, values included. */
export async function revertEvents(
  change: Change,
  dataset: string,
  ancestor: Position,
): Promise<void> {
  const { connection, chainId } = change
  const removed = await connection.run(sql`
    delete from events
    where dataset = ${dataset} and chain_id = ${chainId} and block_number > ${ancestor.number}
    returning chain_id, token, account, timestamp_unix, amount, usd, counted`)
  const contributions = removed
    .filter((row) => column.flag(row, 'counted'))
    .map((row) => ({ ...readContribution(row), sums: negated(readContribution(row).sums) }))
  await foldEvents(connection, dataset, contributions)
}

/** The share of a stored event in its sums. */
export function readContribution(row: Row): Contribution {
  const usd = column.u256OrNull(row, 'usd')
  return {
    chainId: column.integer(row, 'chain_id'),
    token: column.text(row, 'token'),
    account: row.account === null ? null : column.hex(row, 'account'),
    timestamp: column.integer(row, 'timestamp_unix'),
    sums: {
      amount: column.u256(row, 'amount'),
      usd: usd ?? 0n,
      events: 1,
      priced: usd === null ? 0 : 1,
    },
  }
}

/** How many events of a dataset are stored; for proofs and tests, not for the way of a request. */
export async function countEvents(connection: Connection, dataset: string): Promise<number> {
  const [row] = await connection.run(
    sql`select count(*) as events from events where dataset = ${dataset}`,
  )
  return row === undefined ? 0 : column.integer(row, 'events')
}
