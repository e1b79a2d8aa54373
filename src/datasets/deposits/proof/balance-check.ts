import type { BlockRef } from '#domain/chain.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const balanceChecksMigration: Migration = {
  id: 2310,
  name: 'checked balances of payTo',
  sql: `
    create table balance_checks (
      chain_id bigint primary key,
      pay_to text not null,
      block_number bigint not null,
      block_hash text not null,
      held text not null
    )`,
}

/** The newest block at which deposits explain the operator's balance. */
export interface BalanceCheck {
  /** The asset and addresses it covers. */
  readonly payTo: string
  readonly block: BlockRef
  readonly held: bigint
}

export async function readBalanceCheck(
  connection: Connection,
  chainId: number,
): Promise<BalanceCheck | undefined> {
  const [row] = await connection.run(sql`
    select pay_to, block_number, block_hash, held from balance_checks where chain_id = ${chainId}`)
  return (
    row && {
      payTo: column.text(row, 'pay_to'),
      block: { number: column.integer(row, 'block_number'), hash: column.hex(row, 'block_hash') },
      held: BigInt(column.text(row, 'held')),
    }
  )
}

export async function storeBalanceCheck(
  connection: Connection,
  chainId: number,
  { payTo, block, held }: BalanceCheck,
): Promise<void> {
  await connection.run(sql`
    insert into balance_checks (chain_id, pay_to, block_number, block_hash, held)
    values (${chainId}, ${payTo}, ${block.number}, ${block.hash}, ${String(held)})
    on conflict (chain_id) do update set
      pay_to = excluded.pay_to, block_number = excluded.block_number,
      block_hash = excluded.block_hash, held = excluded.held`)
}

export async function forgetBalanceCheck(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`delete from balance_checks where chain_id = ${chainId}`)
}

export async function receivedIn(
  connection: Connection,
  chainId: number,
  range: { readonly after: number; readonly to: number },
): Promise<readonly { readonly block: number; readonly amount: bigint }[]> {
  const found = await connection.run(sql`
    select block_number, amount from deposits
    where chain_id = ${chainId} and block_number > ${range.after} and block_number <= ${range.to}`)
  return found.map((row) => ({
    block: column.integer(row, 'block_number'),
    amount: column.bigint(row, 'amount'),
  }))
}
