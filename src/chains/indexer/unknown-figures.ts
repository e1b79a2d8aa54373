import type { Address } from '#domain/address.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { column, rows, sql, toStoredText } from '#store/sql.ts'

/** What a dataset cannot vouch for, by contract. */
export const unknownFiguresTables: Tables = `
    create table unknown_figures (
      chain_id bigint not null,
      dataset text not null,
      contract text not null,
      reason text not null,
      detail text not null,
      primary key (chain_id, dataset, contract, reason)
    )`

/** `unreadable`: some logs could not be decoded; `differs`: a stored balance is below zero, which no contract has. */
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
    select chain_id, dataset, contract, reason, detail from unknown_figures
    order by chain_id, dataset, contract, reason`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    contract: column.hex(row, 'contract'),
    reason: row.reason === 'differs' ? 'differs' : 'unreadable',
    detail: column.text(row, 'detail'),
  }))
}

export async function noteUnknown(
  connection: Connection,
  figures: readonly UnknownFigure[],
): Promise<void> {
  const distinct = Map.groupBy(figures, ({ chainId, dataset, contract, reason }) =>
    [chainId, dataset, contract, reason].join(' '),
  )
  const list = [...distinct.values()].flatMap(([first]) =>
    first === undefined
      ? []
      : [[first.chainId, first.dataset, first.contract, first.reason, toStoredText(first.detail)]],
  )
  if (list.length === 0) return
  await connection.run(sql`
    insert into unknown_figures (chain_id, dataset, contract, reason, detail)
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
    where chain_id = ${chainId} and dataset = ${dataset} and reason = 'differs'`)
  const list = figures.map(({ contract, detail }) => [contract, toStoredText(detail)])
  if (list.length > 0)
    await connection.run(sql`
      insert into unknown_figures (contract, detail, chain_id, dataset, reason)
      values ${rows(list.map((row) => [...row, chainId, dataset, 'differs']))}`)
}

/** Runs after a reorg, once the anomalies that left the chain are removed. */
export async function forgetReadable(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    delete from unknown_figures
    where chain_id = ${chainId} and reason = 'unreadable' and not exists (
      select 1 from anomalies
      where anomalies.chain_id = unknown_figures.chain_id
        and anomalies.dataset = unknown_figures.dataset
        and anomalies.contract = unknown_figures.contract and anomalies.kind = 'unreadable')`)
}
