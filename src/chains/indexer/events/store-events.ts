import type { Position } from '#chains/chain/chain-event.ts'
import { placeOf } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { column, type SqlValue, sql, toStored } from '#store/sql.ts'
import type { Change } from '../dataset.ts'
import { type FoldedInto, foldEvents } from './fold-events.ts'
import { LIST_COLUMNS } from './list-events.ts'
import { type Contribution, type EventFact, negated, readContribution } from './sums.ts'
import { valuesOf } from './value-events.ts'

interface Summed {
  readonly name: string
  readonly byAccount: boolean
}

export async function storeEvents(
  change: Change,
  { name: dataset, byAccount }: Summed,
  facts: readonly EventFact[],
): Promise<void> {
  const values = await valuesOf(
    change,
    facts.map(({ token, amount, log: { timestamp: unix, chainId, blockNumber } }) => ({
      token,
      amount,
      unix,
      chainId,
      blockNumber,
    })),
  )
  change.changes?.add(dataset, facts, values)
  const into = { dataset, byAccount }
  await storeValued(change.connection, { into, facts, values })
}

interface ValuedEvents {
  readonly into: FoldedInto
  readonly facts: readonly EventFact[]
  readonly values: readonly (MicroUsd | null | undefined)[]
}

export async function storeValued(
  connection: Connection,
  { into, facts, values }: ValuedEvents,
): Promise<void> {
  await allEnded([
    connection.insert(EVENTS, rowsOf(into.dataset, facts, values)),
    foldEvents(connection, into, contributionsOf(facts, values)),
  ])
}

const EVENTS: BulkInsert = {
  table: 'events',
  columns: {
    dataset: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    place: 'bigint',
    block_hash: 'text',
    tx_hash: 'text',
    timestamp_unix: 'bigint',
    kind: 'text',
    token: 'text',
    account: 'text',
    amount: 'text',
    detail: 'text',
    counted: 'bigint',
    valued: 'bigint',
    usd: 'text',
  },
}

function* contributionsOf(
  facts: readonly EventFact[],
  values: readonly (MicroUsd | null | undefined)[],
): Iterable<Contribution> {
  for (const [index, fact] of facts.entries())
    if (fact.counted) yield toContribution(fact, values[index] ?? null)
}

function* rowsOf(
  dataset: string,
  facts: readonly EventFact[],
  values: readonly (MicroUsd | null | undefined)[],
): Iterable<readonly SqlValue[]> {
  for (const [index, fact] of facts.entries()) yield toRow(dataset, fact, values[index])
}

function toRow(
  dataset: string,
  fact: EventFact,
  value: MicroUsd | null | undefined,
): readonly SqlValue[] {
  const { log } = fact
  return [
    dataset,
    log.chainId,
    log.blockNumber,
    placeOf(log),
    log.blockHash,
    log.txHash,
    log.timestamp,
    fact.kind,
    fact.token,
    fact.account,
    toStored(fact.amount),
    fact.detail,
    Number(fact.counted),
    Number(value !== undefined),
    value == null ? null : toStored(value),
  ]
}

function toContribution(fact: EventFact, usd: MicroUsd | null): Contribution {
  return {
    chainId: fact.log.chainId,
    token: fact.token,
    account: fact.account,
    timestamp: fact.log.timestamp,
    sums: { amount: fact.amount, usd: usd ?? 0n, events: 1, priced: usd === null ? 0 : 1 },
  }
}

export async function revertEvents(
  change: Change,
  { name: dataset, byAccount }: Summed,
  ancestor: Position,
): Promise<void> {
  const { connection, chainId } = change
  const removed = await connection.run(sql`
    delete from events
    where dataset = ${dataset} and chain_id = ${chainId} and block_number > ${ancestor.number}
    returning ${LIST_COLUMNS}, counted`)
  change.changes?.remove(dataset, removed)
  const contributions = removed
    .filter((row) => column.flag(row, 'counted'))
    .map((row) => ({ ...readContribution(row), sums: negated(readContribution(row).sums) }))
  await foldEvents(connection, { dataset, byAccount }, contributions)
}
