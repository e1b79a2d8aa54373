import { type Key, newestKeys } from '#accounts/keys/key-store.ts'
import type { Engine } from '#store/engine.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook } from './webhook-store.ts'

/** Ends webhooks whose key's newest rotation is revoked or has expired. */
export async function followKeys(
  accounts: Engine,
  webhooks: readonly Webhook[],
  nowUnix: number,
): Promise<void> {
  const publicIds = webhooks.map(({ publicId }) => publicId)
  const keys = await newestKeys({ run: accounts.read }, [...new Set(publicIds)])
  const changed = webhooks.flatMap((webhook) => {
    const changes = changesOf(keys.get(webhook.publicId), nowUnix)
    return changes === undefined ? [] : [{ webhook, changes }]
  })
  if (changed.length === 0) return
  await accounts.write(async (connection) => {
    for (const { webhook, changes } of changed) await changeWebhook(connection, webhook, changes)
  })
}

function changesOf(key: Key | undefined, nowUnix: number): Partial<Webhook> | undefined {
  const isExpired = (key?.limits?.expiresUnix ?? nowUnix + 1) <= nowUnix
  if (key !== undefined && key.revokedUnix === null && !isExpired) return undefined
  const reason = key?.revokedUnix === null ? 'key_expired' : 'key_revoked'
  return { state: 'ended', reason, answer: reason, answerUnix: nowUnix, dueMs: null }
}
