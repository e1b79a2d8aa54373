import type { Reads } from '#money/payments/claim-store.ts'
import type { Connection } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'

/** Gas of a UTC day in gwei: the most that its transactions may cost. */
export async function gasOfDay(reads: Reads, day: number): Promise<bigint> {
  const [row] = await reads.run(sql`
    select gas_gwei from x402_facilitator where id = 1 and gas_day = ${day}`)
  return row === undefined ? 0n : column.amount(row, 'gas_gwei')
}

/** The lock makes its holder the only one that reserves. */
export async function lockReservations(connection: Connection): Promise<void> {
  await connection.run(sql`
    insert into x402_facilitator (id) values (1) on conflict (id) do update set id = 1`)
}

/** False if the day would then cost more than the ceiling. */
export async function addGas(
  connection: Connection,
  {
    day,
    gwei,
    ceilingGwei,
  }: { readonly day: number; readonly gwei: bigint; readonly ceilingGwei: bigint },
): Promise<boolean> {
  await lockReservations(connection)
  const used = await gasOfDay(connection, day)
  if (used + gwei > ceilingGwei) return false
  await connection.run(sql`
    update x402_facilitator set gas_day = ${day}, gas_gwei = ${used + gwei} where id = 1`)
  return true
}
