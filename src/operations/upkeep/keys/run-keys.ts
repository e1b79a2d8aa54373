import { randomUUID } from 'node:crypto'
import { lockKey } from '#callers/keys/key-store.ts'
import type { Address } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { postGrant } from '#ledger/grant.ts'
import { countOf } from '#lib/count-of.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { unixNow } from '#lib/time.ts'
import { redact } from '#main/logger.ts'
import { noteRevokedKeys } from '#main/revoked-keys.ts'
import type { RoleContext } from '#main/role-context.ts'
import { SettingsError } from '#main/settings-error.ts'
import type { Connection } from '#store/engine.ts'
import { onAccounts } from '../open-accounts.ts'
import type { Report } from '../report.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { inWords, listAllKeys } from './list-keys.ts'
import { revokeKeys } from './revoke-keys.ts'

type Context = Pick<RoleContext, 'settings' | 'clock'>

export function runList(
  context: Context,
  report: Report,
  { owner }: { readonly owner?: Address },
): Promise<void> {
  return onAccounts(context.settings, async (accounts) => {
    const keys = await listAllKeys(accounts, { owner, nowUnix: unixNow(context.clock) })
    for (const key of keys) report.say(inWords(key))
    report.say(countOf(keys.length, 'key'))
    report.done({ keys })
  })
}

export function runRevoke(
  context: Context,
  report: Report,
  publicIds: readonly string[],
): Promise<void> {
  const wrong = publicIds.filter((each) => !PUBLIC_ID.test(each))
  if (wrong.length > 0)
    throw new SettingsError(`not a publicId (8 hex digits): ${wrong.join(', ')}`)
  return onAccounts(context.settings, async (accounts) => {
    const outcome = await accounts.write((tx) => revokeKeys(tx, publicIds, unixNow(context.clock)))
    const { database, dataFolder } = context.settings
    if (database.kind === 'sqlite') noteRevokedKeys(dataFolder, outcome.revoked)
    for (const publicId of outcome.revoked) report.say(`${publicId}: revoked`)
    for (const each of outcome.before) report.say(`${each}: was revoked before`)
    report.done({ ...outcome })
  })
}

export interface GrantOptions {
  readonly publicId: string
  readonly microUsd: MicroUsd
  readonly reason: string
  readonly id?: string
}

export function runGrant(
  context: Context,
  report: Report,
  { publicId, microUsd, reason: given, id = randomUUID() }: GrantOptions,
): Promise<void> {
  return onAccounts(context.settings, async (accounts) => {
    const createdUnix = unixNow(context.clock)
    const reason = redact(given)
    const grant = { id, publicId, microUsd, reason, createdUnix }
    const outcome = await accounts.write((tx) => grantWithin(tx, grant))
    const amount = `${formatDecimal(microUsd, 6)} USD`
    report.say(
      outcome === 'created'
        ? `${publicId} was granted ${amount} (id ${id})`
        : `${publicId} was granted ${amount} before under the id ${id}; nothing was changed`,
    )
    report.done({ id, publicId, grantedUsd: formatDecimal(microUsd, 6), reason, outcome })
  })
}

async function grantWithin(tx: Connection, grant: Parameters<typeof postGrant>[1]) {
  const key = await lockKey(tx, grant.publicId)
  if (key === undefined)
    throw new UpkeepError(`no key has the publicId ${grant.publicId}; see "sexton keys list"`)
  const outcome = await postGrant(tx, grant)
  if (outcome === 'conflict')
    throw new UpkeepError(`--id: ${grant.id} granted something else before; choose another`)
  // A repeated command is answered even if the key was revoked since.
  if (outcome === 'created' && key.revokedUnix !== null)
    throw new UpkeepError(`${grant.publicId} is revoked; grant to an active key of its wallet`)
  return outcome
}
