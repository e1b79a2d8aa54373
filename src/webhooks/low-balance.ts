import { toUsd } from '#domain/money.ts'
import { keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import type { KeyedCaller } from './charge-events.ts'
import { queueEvents } from './event-store.ts'
import { lockWebhooks } from './webhook-store.ts'

interface LowBalanceDeps {
  readonly accounts: Engine
  readonly clock: Clock
  callersOf(publicIds: readonly string[]): Promise<ReadonlyMap<string, KeyedCaller | 'expired'>>
  /** A transaction of the only deliverer. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

interface Watched {
  readonly publicId: string
  readonly lowBalance: bigint
  readonly webhookIds: string[]
}

/** A free event, once until the balance is above again. */
export async function tellLowBalances(deps: LowBalanceDeps): Promise<void> {
  const watched = await readWatched(deps)
  if (watched.length === 0) return
  const accounts = watched.map(({ publicId }) => keyAccount(publicId))
  const told = await readTold(deps.accounts, watched)
  const balances = await deps.accounts.snapshot((reads) => readBalances(reads, accounts))
  for (const each of watched) {
    const balance = balances.get(keyAccount(each.publicId)) ?? 0n
    const isLow = balance < each.lowBalance
    if (isLow !== told.has(each.publicId))
      await deps.write((connection) => note(connection, deps, { ...each, balance, isLow }))
  }
}

/** A webhook follows its key to its newest rotation. */
async function readWatched({ accounts, callersOf }: LowBalanceDeps): Promise<readonly Watched[]> {
  const found = await accounts.read(sql`
    select webhooks.id, webhooks.public_id from webhooks
    join keys on keys.public_id = webhooks.public_id
    where state = 'active' and exists (
      select 1 from keys as others
      where others.wallet = keys.wallet and others.revoked_unix is null
        and others.limits like '%"lowBalanceMicroUsd"%')`)
  if (found.length === 0) return []
  const publicIds = found.map((row) => column.text(row, 'public_id'))
  const callers = await callersOf([...new Set(publicIds)])
  const watched = new Map<string, Watched>()
  for (const row of found) {
    const caller = callers.get(column.text(row, 'public_id'))
    const lowBalance = typeof caller === 'object' ? caller.limits?.lowBalanceMicroUsd : undefined
    if (typeof caller !== 'object' || lowBalance === undefined) continue
    const { publicId } = caller
    const known = watched.get(publicId) ?? { publicId, lowBalance, webhookIds: [] }
    known.webhookIds.push(column.text(row, 'id'))
    watched.set(publicId, known)
  }
  return [...watched.values()]
}

async function readTold(
  accounts: Engine,
  watched: readonly Watched[],
): Promise<ReadonlySet<string>> {
  const found = await accounts.read(sql`
    select public_id from low_balances
    where is_told = 1 and public_id ${inNames(watched.map(({ publicId }) => publicId))}`)
  return new Set(found.map((row) => column.text(row, 'public_id')))
}

async function note(
  connection: Connection,
  { clock }: LowBalanceDeps,
  {
    publicId,
    lowBalance,
    webhookIds,
    balance,
    isLow,
  }: Watched & { readonly balance: bigint; readonly isLow: boolean },
): Promise<void> {
  const changed = await connection.run(sql`
    insert into low_balances (public_id, is_told) values (${publicId}, ${Number(isLow)})
    on conflict (public_id) do update set is_told = excluded.is_told
    where low_balances.is_told <> excluded.is_told returning public_id`)
  if (changed.length === 0 || !isLow) return
  const data = JSON.stringify({
    publicId,
    prepaidBalanceUsd: toUsd(balance),
    lowBalanceUsd: toUsd(lowBalance),
  })
  const event = { type: 'balance.low', data, isFree: true }
  for (const webhook of (await lockWebhooks(connection, webhookIds)).values())
    if (webhook.state === 'active')
      await queueEvents(connection, webhook, { events: [event], nowMs: clock() })
}
