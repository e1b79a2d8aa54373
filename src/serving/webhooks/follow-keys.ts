import { type Key, newestKeys } from '#callers/keys/key-store.ts'
import { keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import type { Engine } from '#store/engine.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook } from './webhook-store.ts'

/**
 * Ends webhooks whose key's newest rotation is revoked or has expired, and notes those whose balance
 * is low.
 */
export async function followKeys(
  accounts: Engine,
  webhooks: readonly Webhook[],
  nowUnix: number,
): Promise<void> {
  const publicIds = webhooks.map(({ publicId }) => publicId)
  const keys = await newestKeys({ run: accounts.read }, [...new Set(publicIds)])
  const low = await lowOf(accounts, keys)
  const changed = webhooks.flatMap((webhook) => {
    const key = keys.get(webhook.publicId)
    const changes = changesOf(webhook, { key, isLow: low.has(webhook.publicId), nowUnix })
    return changes === undefined ? [] : [{ webhook, changes }]
  })
  if (changed.length === 0) return
  await accounts.write(async (connection) => {
    for (const { webhook, changes } of changed) await changeWebhook(connection, webhook, changes)
  })
}

interface Followed {
  readonly key: Key | undefined
  readonly isLow: boolean
  readonly nowUnix: number
}

function changesOf(
  { lowUnix }: Webhook,
  { key, isLow, nowUnix }: Followed,
): Partial<Webhook> | undefined {
  const isExpired = (key?.limits?.expiresUnix ?? nowUnix + 1) <= nowUnix
  if (key === undefined || key.revokedUnix !== null || isExpired) {
    const reason = key?.revokedUnix === null ? 'key_expired' : 'key_revoked'
    return { state: 'ended', reason, answer: reason, answerUnix: nowUnix, dueMs: null }
  }
  if (isLow === (lowUnix !== null)) return undefined
  return { lowUnix: isLow ? nowUnix : null, isLowTold: false }
}

/** Keys whose balance is below their limit. */
async function lowOf(
  accounts: Engine,
  keys: ReadonlyMap<string, Key>,
): Promise<ReadonlySet<string>> {
  const limited = [...keys].flatMap(([origin, { publicId, limits }]) => {
    const least = limits?.lowBalanceMicroUsd
    return least === undefined ? [] : [{ origin, account: keyAccount(publicId), least }]
  })
  if (limited.length === 0) return new Set()
  const names = limited.map(({ account }) => account)
  const balances = await accounts.snapshot((reads) => readBalances(reads, names))
  const low = limited.filter(({ account, least }) => (balances.get(account) ?? 0n) < least)
  return new Set(low.map(({ origin }) => origin))
}
