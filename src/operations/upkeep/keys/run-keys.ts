import { noteRevokedKeys } from '#accounts/keys/revoked-keys.ts'
import { ConfigError } from '#config.ts'
import type { Address } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import { unixNow } from '#lib/time.ts'
import { countOf } from '#lib/words.ts'
import type { CommandContext } from '#main/command-context.ts'
import { onAccounts } from '../open-accounts.ts'
import type { Report } from '../report.ts'
import { inWords, listAllKeys } from './list-keys.ts'
import { revokeKeys } from './revoke-keys.ts'

type Context = Pick<CommandContext, 'config' | 'clock'>

export function runList(
  context: Context,
  report: Report,
  { owner }: { readonly owner?: Address },
): Promise<void> {
  return onAccounts(context.config, async (accounts) => {
    const keys = await listAllKeys(accounts, owner)
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
  if (wrong.length > 0) throw new ConfigError(`not a publicId (8 hex digits): ${wrong.join(', ')}`)
  return onAccounts(context.config, async (accounts) => {
    const outcome = await accounts.write((tx) => revokeKeys(tx, publicIds, unixNow(context.clock)))
    const { database, dataFolder } = context.config
    if (database.kind === 'sqlite') noteRevokedKeys(dataFolder, outcome.revoked)
    for (const publicId of outcome.revoked) report.say(`${publicId}: revoked`)
    for (const each of outcome.before) report.say(`${each}: was revoked before`)
    report.done({ ...outcome })
  })
}
