import type { MicroUsd } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'
import { column, inNames, type Sql, sql } from '#store/sql.ts'

export function balancesOf(accounts: readonly string[]): Sql {
  return sql`select account, micro_usd from balances where account ${inNames(accounts)}`
}

export async function readBalances(
  connection: Pick<Connection, 'run'>,
  accounts: readonly string[],
): Promise<Map<string, MicroUsd>> {
  if (accounts.length === 0) return new Map()
  const found = await connection.run(balancesOf(accounts))
  return new Map(found.map((row) => [column.text(row, 'account'), column.amount(row, 'micro_usd')]))
}

export async function lockBalance(connection: Connection, account: string): Promise<MicroUsd> {
  const [row] = await connection.run(sql`
    update balances set micro_usd = micro_usd where account = ${account} returning micro_usd`)
  return row === undefined ? 0n : column.amount(row, 'micro_usd')
}
