import { type Address, showAddress } from '#domain/address.ts'
import { formatDecimal } from '#domain/money.ts'
import { toIso } from '#lib/time.ts'
import { streamTable } from '#store/dialects.ts'
import type { Engine } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'

export interface ShownKey {
  readonly publicId: string
  readonly owner: string
  readonly label: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
  readonly successor: string | null
  readonly balanceUsd: string
}

const LISTED = `(
  select keys.public_id, keys.wallet, keys.label, keys.created_unix, keys.revoked_unix,
    keys.successor, coalesce(balances.micro_usd, 0) as balance
  from keys left join balances on balances.account = 'key:' || keys.public_id) as listed`

export async function listAllKeys(
  engine: Engine,
  owner: Address | undefined,
): Promise<readonly ShownKey[]> {
  return engine.snapshot(async (connection) => {
    const state = { connection, dialect: engine.dialect }
    const keys: ShownKey[] = []
    for await (const row of streamTable(state, {
      table: LISTED,
      key: { public_id: 'text' },
      ...(owner !== undefined && { where: sql`wallet = ${owner}` }),
    }))
      keys.push(toShown(row))
    return keys
  })
}

function toShown(row: Row): ShownKey {
  const revokedUnix = column.integerOrNull(row, 'revoked_unix')
  return {
    publicId: column.text(row, 'public_id'),
    owner: showAddress(column.hex(row, 'wallet')),
    label: column.textOrNull(row, 'label'),
    createdAt: toIso(column.integer(row, 'created_unix')),
    revokedAt: revokedUnix === null ? null : toIso(revokedUnix),
    successor: column.textOrNull(row, 'successor'),
    balanceUsd: formatDecimal(column.amount(row, 'balance'), 6),
  }
}

export function inWords(key: ShownKey): string {
  const state = key.revokedAt === null ? 'active' : `revoked ${key.revokedAt}`
  const next = key.successor === null ? '' : `, replaced by ${key.successor}`
  const label = key.label === null ? '' : ` "${key.label}"`
  return `${key.publicId}  ${key.owner}  ${state}${next}  ${key.balanceUsd} USD${label}`
}
