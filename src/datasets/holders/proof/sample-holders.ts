import { randomBytes } from 'node:crypto'
import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Errors in large balances hurt most; those in small ones show what goes wrong in general. */
const TOP = 50
const RANDOM = 50

/** The largest holders of a token on a chain, and as many chosen by chance. */
export async function sampleHolders(
  connection: Connection,
  place: { readonly token: string; readonly chainId: number },
): Promise<ReadonlySet<Address>> {
  const { token, chainId } = place
  const top = await connection.run(sql`
    select address from balances where token = ${token} and chain_id = ${chainId}
    order by balance desc, address limit ${TOP}`)
  const sample = new Set<Address>(top.map((row) => column.hex(row, 'address')))
  for (let count = 0; count < RANDOM; count += 1) {
    // Addresses are spread evenly: the first one from a random place on is a fair choice.
    const from = `0x${randomBytes(20).toString('hex')}`
    const [row] = await connection.run(sql`
      select address from balances
      where token = ${token} and address >= ${from} and chain_id = ${chainId}
      order by address limit 1`)
    if (row !== undefined) sample.add(column.hex(row, 'address'))
  }
  return sample
}
