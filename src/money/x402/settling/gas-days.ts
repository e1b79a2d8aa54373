import type { Reads } from '#money/payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Gas of a UTC day in gwei: the most that its transactions may cost. */
export async function gasOfDay(reads: Reads, day: number): Promise<bigint> {
  const [row] = await reads.run(sql`select gwei from x402_gas where day = ${day}`)
  return row === undefined ? 0n : column.amount(row, 'gwei')
}

/** The lock makes its holder the only one that reserves. */
export async function lockGasDay(connection: Connection, day: number): Promise<bigint> {
  const [row] = await connection.run(sql`
    insert into x402_gas (day, gwei) values (${day}, 0)
    on conflict (day) do update set gwei = x402_gas.gwei returning gwei`)
  return row === undefined ? 0n : column.amount(row, 'gwei')
}

/** False if the day would then cost more than the ceiling. */
export async function addGas(
  connection: Connection,
  input: { readonly day: number; readonly gwei: bigint; readonly ceilingGwei: bigint },
): Promise<boolean> {
  const { day, gwei, ceilingGwei } = input
  if ((await lockGasDay(connection, day)) + gwei > ceilingGwei) return false
  await connection.run(sql`update x402_gas set gwei = gwei + ${gwei} where day = ${day}`)
  return true
}
