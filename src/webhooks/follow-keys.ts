import { parseLimits } from '#access/keys/limits.ts'
import { keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

/**
 * Ends webhooks of keys whose newest rotation is revoked or has expired, in whatever state they are,
 * and notes those whose balance is low.
 */
export async function followKeys(accounts: Engine, nowUnix: number): Promise<void> {
  const found = await readKeys(accounts)
  const revoked = found.filter(({ isRevoked }) => isRevoked)
  const living = found.filter(({ isRevoked }) => !isRevoked)
  const expired = living.filter(({ limits }) => (limits.expiresUnix ?? nowUnix + 1) <= nowUnix)
  await end(accounts, { publicIds: revoked.map(originOf), reason: 'key_revoked', nowUnix })
  await end(accounts, { publicIds: expired.map(originOf), reason: 'key_expired', nowUnix })
  await noteLow(accounts, await lowOf(accounts, living), nowUnix)
}

type FollowedKey = Awaited<ReturnType<typeof readKeys>>[number]

/** Keys of webhooks whose newest rotation is revoked or has limits. */
async function readKeys(accounts: Engine) {
  const found = await accounts.read(sql`
    with recursive line (origin, newest) as (
      select public_id, public_id from webhooks where state <> 'ended' or due_ms is not null
      union
      select line.origin, keys.successor from line join keys on keys.public_id = line.newest
      where keys.successor is not null
    )
    select origin, newest, revoked_unix, limits from line join keys on keys.public_id = line.newest
    where successor is null and (revoked_unix is not null or limits is not null)`)
  return found.map((row) => ({
    origin: column.text(row, 'origin'),
    account: keyAccount(column.text(row, 'newest')),
    isRevoked: column.integerOrNull(row, 'revoked_unix') !== null,
    limits: parseLimits(column.textOrNull(row, 'limits')) ?? {},
  }))
}

function originOf({ origin }: FollowedKey): string {
  return origin
}

async function end(
  accounts: Engine,
  input: {
    readonly publicIds: readonly string[]
    readonly reason: string
    readonly nowUnix: number
  },
): Promise<void> {
  const { publicIds, reason, nowUnix } = input
  if (publicIds.length === 0) return
  await accounts.write((connection) =>
    connection.run(sql`
      update webhooks set state = 'ended', reason = ${reason}, answer = ${reason},
        answer_unix = ${nowUnix}, due_ms = null
      where public_id ${inNames(publicIds)} and (state <> 'ended' or due_ms is not null)`),
  )
}

/** Those whose balance is below their limit. */
async function lowOf(accounts: Engine, keys: readonly FollowedKey[]): Promise<readonly string[]> {
  const limited = keys.filter(({ limits }) => limits.lowBalanceMicroUsd !== undefined)
  if (limited.length === 0) return []
  const names = limited.map(({ account }) => account)
  const balances = await accounts.snapshot((reads) => readBalances(reads, names))
  return limited
    .filter(
      ({ account, limits }) => (balances.get(account) ?? 0n) < (limits.lowBalanceMicroUsd ?? 0n),
    )
    .map(originOf)
}

async function noteLow(accounts: Engine, low: readonly string[], nowUnix: number): Promise<void> {
  const isOther = sql`(low_unix is null and public_id ${inNames(low)})
    or (low_unix is not null and not public_id ${inNames(low)})`
  const [other] = await accounts.read(sql`select id from webhooks where ${isOther} limit 1`)
  if (other === undefined) return
  await accounts.write((connection) =>
    connection.run(sql`
      update webhooks set is_low_told = 0,
        low_unix = case when low_unix is null then cast(${nowUnix} as bigint) end
      where ${isOther}`),
  )
}
