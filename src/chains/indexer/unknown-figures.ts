import type { Address } from '#domain/address.ts'
import { toStoredText } from '#lib/stored-text.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { rows, sql } from '#store/sql.ts'

/**
 * What a dataset cannot vouch for, by contract, since a block. `confirmed`: the contract's own views
 * have agreed with the register since. A reason is one of `UNKNOWN_REASONS`, or `overdrawn`, which
 * readers see as `differs`.
 */
export const unknownFiguresMigration: Migration = {
  id: 2090,
  name: 'figures that are unknown',
  sql: `
    create table unknown_figures (
      chain_id bigint not null,
      dataset text not null,
      contract text not null,
      reason text not null,
      detail text not null,
      block_number bigint not null,
      confirmed bigint not null,
      primary key (chain_id, dataset, contract, reason)
    )`,
}

/** `unreadable`: some logs could not be decoded; `differs`: unequal to the contract's own views. */
export const UNKNOWN_REASONS = ['unreadable', 'differs'] as const

export interface UnknownFigure {
  readonly chainId: number
  readonly dataset: string
  readonly contract: Address
  readonly reason: (typeof UNKNOWN_REASONS)[number]
  readonly detail: string
}

export async function readUnknown(connection: Connection): Promise<readonly UnknownFigure[]> {
  const found = await connection.run(sql`
    select chain_id, dataset, contract, min(detail) as detail,
      case reason when 'unreadable' then reason else 'differs' end as told
    from unknown_figures where confirmed = 0
    group by chain_id, dataset, contract, told order by chain_id, dataset, contract, told`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    contract: column.hex(row, 'contract'),
    reason: row.told === 'differs' ? 'differs' : 'unreadable',
    detail: column.text(row, 'detail'),
  }))
}

export interface NotedFigure extends UnknownFigure {
  /** Only a comparison at this block or later can clear it. */
  readonly blockNumber: number
}

/** Figures that a comparison confirmed stay so until one differs. */
export async function noteUnknown(
  connection: Connection,
  figures: readonly NotedFigure[],
): Promise<void> {
  const distinct = Map.groupBy(figures, ({ chainId, dataset, contract, reason }) =>
    [chainId, dataset, contract, reason].join(' '),
  )
  const list = [...distinct.values()].flatMap(([first]) =>
    first === undefined
      ? []
      : [
          [
            first.chainId,
            first.dataset,
            first.contract,
            first.reason,
            toStoredText(first.detail),
            first.blockNumber,
            0,
          ],
        ],
  )
  if (list.length === 0) return
  await connection.run(sql`
    insert into unknown_figures (chain_id, dataset, contract, reason, detail, block_number, confirmed)
    values ${rows(list)} on conflict (chain_id, dataset, contract, reason) do nothing`)
}

/** Notes tokens with a stored balance below zero, which no contract has. */
export async function noteOverdrawn(
  connection: Connection,
  input: {
    readonly chainId: number
    readonly dataset: string
    readonly figures: readonly Pick<UnknownFigure, 'contract' | 'detail'>[]
  },
): Promise<void> {
  const { chainId, dataset, figures } = input
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and dataset = ${dataset} and reason = 'overdrawn'`)
  const list = figures.map(({ contract, detail }) => [contract, toStoredText(detail)])
  if (list.length > 0)
    await connection.run(sql`
      insert into unknown_figures (contract, detail, chain_id, dataset, reason, block_number, confirmed)
      values ${rows(list.map((row) => [...row, chainId, dataset, 'overdrawn', 0, 0]))}`)
}

interface Compared extends Pick<NotedFigure, 'chainId' | 'dataset' | 'contract' | 'blockNumber'> {
  /** Null if all figures were equal. */
  readonly difference: string | null
}

/** What a comparison with the contract's own views found at a block; what came later stays unknown. */
export async function noteCompared(
  connection: Connection,
  { difference, ...at }: Compared,
): Promise<void> {
  const { chainId, dataset, contract, blockNumber } = at
  const own = sql`chain_id = ${chainId} and dataset = ${dataset} and contract = ${contract}`
  const known = sql`${own} and block_number <= ${blockNumber}`
  await connection.run(sql`delete from unknown_figures where ${known} and reason = 'differs'`)
  if (difference === null)
    return void (await connection.run(
      sql`update unknown_figures set confirmed = 1 where ${known} and reason = 'unreadable'`,
    ))
  await connection.run(sql`update unknown_figures set confirmed = 0 where ${own}`)
  await noteUnknown(connection, [{ ...at, reason: 'differs', detail: difference }])
}

export async function forgetUnknown(
  connection: Connection,
  { chainId, dataset }: Pick<UnknownFigure, 'chainId' | 'dataset'>,
): Promise<void> {
  await connection.run(
    sql`delete from unknown_figures where chain_id = ${chainId} and dataset = ${dataset}`,
  )
}

/** Runs after a reorg, once the anomalies that left the chain are removed. */
export async function forgetReadable(
  connection: Connection,
  chainId: number,
  ancestor: number,
): Promise<void> {
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and reason = 'differs' and block_number > ${ancestor}`)
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and reason = 'unreadable' and not exists (
      select 1 from anomalies
      where anomalies.chain_id = unknown_figures.chain_id
        and anomalies.dataset = unknown_figures.dataset
        and anomalies.contract = unknown_figures.contract and anomalies.kind = 'unreadable')`)
}
