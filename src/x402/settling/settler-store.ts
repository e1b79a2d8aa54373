import type { Address } from '#domain/address.ts'
import type { Reads } from '#payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface SettlerName {
  readonly chainId: number
  readonly settler: Address
}

export interface Settler {
  readonly gasDay: number
  readonly gasGwei: bigint
}

/** The lock makes its holder the only writer. */
export async function lockSettler(connection: Connection, name: SettlerName): Promise<Settler> {
  const [row] = await connection.run(sql`
    insert into x402_settlers (chain_id, settler, gas_day, gas_gwei)
    values (${name.chainId}, ${name.settler}, 0, 0)
    on conflict (chain_id, settler) do update set gas_day = x402_settlers.gas_day
    returning gas_day, gas_gwei`)
  return {
    gasDay: row === undefined ? 0 : column.integer(row, 'gas_day'),
    gasGwei: row === undefined ? 0n : column.amount(row, 'gas_gwei'),
  }
}

export async function updateSettler(
  connection: Connection,
  name: SettlerName,
  settler: Settler,
): Promise<void> {
  await connection.run(sql`
    update x402_settlers set gas_day = ${settler.gasDay}, gas_gwei = ${settler.gasGwei}
    where chain_id = ${name.chainId} and settler = ${name.settler}`)
}

export async function gasOfDay(reads: Reads, name: SettlerName, day: number): Promise<bigint> {
  const [row] = await reads.run(sql`
    select gas_gwei from x402_settlers
    where chain_id = ${name.chainId} and settler = ${name.settler} and gas_day = ${day}`)
  return row === undefined ? 0n : column.amount(row, 'gas_gwei')
}

export async function correctGas(
  connection: Connection,
  name: SettlerName,
  input: { readonly day: number; readonly lessGwei: bigint },
): Promise<void> {
  await connection.run(sql`
    update x402_settlers set gas_gwei = gas_gwei - ${input.lessGwei}
    where chain_id = ${name.chainId} and settler = ${name.settler} and gas_day = ${input.day}`)
}
