import { randomBytes } from 'node:crypto'
import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Large errors hurt most; small balances reveal systematic ones. */
const OVERDRAWN = 5
const TOP = 50
const RANDOM = 50

export async function sampleHolders(
  connection: Connection,
  place: { readonly token: string; readonly chainId: number },
): Promise<ReadonlySet<Address>> {
  const { token, chainId } = place
  const overdrawn = await connection.run(sql`
    select address from balances
    where token = ${token} and chain_id = ${chainId} and balance < '1' limit ${OVERDRAWN}`)
  const top = await connection.run(sql`
    select address from balances where token = ${token} and chain_id = ${chainId}
    order by balance desc, address limit ${TOP}`)
  const sample = new Set<Address>([...overdrawn, ...top].map((row) => column.hex(row, 'address')))
  for (let count = 0; count < RANDOM; count += 1) {
    // Addresses are uniform, so the next one after a random value is a fair sample.
    const from = `0x${randomBytes(20).toString('hex')}`
    const [row] = await connection.run(sql`
      select address from balances
      where token = ${token} and address >= ${from} and chain_id = ${chainId}
      order by address limit 1`)
    if (row !== undefined) sample.add(column.hex(row, 'address'))
  }
  return sample
}
