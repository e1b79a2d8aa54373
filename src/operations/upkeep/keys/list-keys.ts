import { type Address, showAddress } from '#domain/address.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { toIso } from '#lib/time.ts'
import type { Engine, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { streamTable } from '#store/stream-table.ts'

export interface ShownKey {
  readonly publicId: string
  readonly owner: string
  readonly label: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
  readonly successor: string | null
  readonly balanceUsd: string
  /** In all, of the balance and of what was spent. */
  readonly grantedUsd: string
  /** What the operator granted to its wallet, until it ends. */
  readonly quota: {
    readonly dailyQuota: number
    readonly until: string
    readonly reason: string
  } | null
}

const LISTED = `(
  select keys.public_id, keys.wallet, keys.label, keys.created_unix, keys.revoked_unix,
    keys.successor, coalesce(balances.micro_usd, 0) as balance, (
      select cast(coalesce(sum(grants.micro_usd), 0) as bigint) from grants
      where grants.public_id = keys.public_id) as granted,
    quotas.daily_quota, quotas.until_unix, quotas.reason
  from keys left join balances on balances.account = 'key:' || keys.public_id
    left join granted_quotas as quotas on quotas.wallet = keys.wallet) as listed`

export async function listAllKeys(
  engine: Engine,
  { owner, nowUnix }: { readonly owner: Address | undefined; readonly nowUnix: number },
): Promise<readonly ShownKey[]> {
  return engine.snapshot(async (connection) => {
    const state = { connection, dialect: engine.dialect }
    const keys: ShownKey[] = []
    for await (const row of streamTable(state, {
      table: LISTED,
      key: { public_id: 'text' },
      ...(owner !== undefined && { where: sql`wallet = ${owner}` }),
    }))
      keys.push(toShown(row, nowUnix))
    return keys
  })
}

function toShown(row: Row, nowUnix: number): ShownKey {
  const revokedUnix = column.integerOrNull(row, 'revoked_unix')
  return {
    publicId: column.text(row, 'public_id'),
    owner: showAddress(column.hex(row, 'wallet')),
    label: column.textOrNull(row, 'label'),
    createdAt: toIso(column.integer(row, 'created_unix')),
    revokedAt: revokedUnix === null ? null : toIso(revokedUnix),
    successor: column.textOrNull(row, 'successor'),
    balanceUsd: formatDecimal(column.amount(row, 'balance'), 6),
    grantedUsd: formatDecimal(column.amount(row, 'granted'), 6),
    quota: quotaOf(row, nowUnix),
  }
}

function quotaOf(row: Row, nowUnix: number): ShownKey['quota'] {
  const untilUnix = column.integerOrNull(row, 'until_unix')
  if (untilUnix === null || untilUnix <= nowUnix) return null
  const [dailyQuota, reason] = [column.integer(row, 'daily_quota'), column.text(row, 'reason')]
  return { dailyQuota, until: toIso(untilUnix), reason }
}

export function inWords(key: ShownKey): string {
  const state = key.revokedAt === null ? 'active' : `revoked ${key.revokedAt}`
  const next = key.successor === null ? '' : `, replaced by ${key.successor}`
  const label = key.label === null ? '' : ` "${key.label}"`
  const { quota } = key
  const calls =
    quota === null ? '' : `, ${quota.dailyQuota} calls a day until ${quota.until} (${quota.reason})`
  return `${key.publicId}  ${key.owner}  ${state}${next}  ${key.balanceUsd} USD${calls}${label}`
}
