import { grantQuota, withdrawQuota } from '#callers/keys/granted-quotas.ts'
import { findKey } from '#callers/keys/key-store.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { toIso, unixNow } from '#lib/time.ts'
import { redact } from '#main/logger.ts'
import { chosenEcosystem, type RoleContext } from '#main/role-context.ts'
import { SettingsError } from '#main/settings-error.ts'
import type { Connection } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { onAccounts } from '../open-accounts.ts'
import type { Report } from '../report.ts'
import { UpkeepError } from '../upkeep-error.ts'

/** A wallet, or one of its keys: all of them share the quota. */
export type QuotaOwner = { readonly wallet: Address } | { readonly publicId: string }

export interface QuotaOptions {
  readonly owner: QuotaOwner
  /** `default` withdraws what was granted. */
  readonly calls: number | 'default'
  readonly until?: number | undefined
  readonly reason?: string | undefined
}

interface Granted extends Pick<QuotaOptions, 'owner'> {
  readonly calls: number
  readonly until: number
  readonly reason: string
}

type Context = Pick<RoleContext, 'settings' | 'clock'>

export async function runQuota(
  context: Context,
  report: Report,
  { owner, calls, until, reason }: QuotaOptions,
): Promise<void> {
  if (calls === 'default') {
    if (until !== undefined || reason !== undefined)
      throw new SettingsError('default takes neither --until nor --reason: it holds at once')
    return withdraw(context, report, owner)
  }
  if (until === undefined || reason === undefined)
    throw new SettingsError('name --until and --reason: a granted quota has an end and a reason')
  await grant(context, report, { owner, calls, until, reason: redact(reason) })
}

async function grant(
  { settings, clock }: Context,
  report: Report,
  { owner, calls, until, reason }: Granted,
): Promise<void> {
  const nowUnix = unixNow(clock)
  if (until <= nowUnix) throw new SettingsError(`--until: ${toIso(until)} has passed`)
  const { free } = (await chosenEcosystem(settings)).quotas
  if (calls <= free)
    throw new SettingsError(`every key has ${free} free calls a day (quotas.free); grant more`)
  const wallet = await onAccounts(settings, (accounts) =>
    accounts.write(async (tx) => {
      const found = await walletOf(tx, owner)
      const granted = { wallet: found, dailyQuota: calls, untilUnix: until, reason }
      await grantQuota(tx, { ...granted, grantedUnix: nowUnix })
      return showAddress(found)
    }),
  )
  report.say(
    `${wallet} has ${calls} free calls a UTC day until ${toIso(until)}, if its tier has fewer`,
  )
  report.done({ wallet, dailyQuota: calls, until: toIso(until), reason })
}

async function withdraw({ settings }: Context, report: Report, owner: QuotaOwner): Promise<void> {
  const { wallet, wasGranted } = await onAccounts(settings, (accounts) =>
    accounts.write(async (tx) => {
      const found = await walletOf(tx, owner)
      return { wallet: showAddress(found), wasGranted: await withdrawQuota(tx, found) }
    }),
  )
  report.say(`${wallet} has the quota of its tier${wasGranted ? '' : ', as before'}`)
  report.done({ wallet, dailyQuota: null, wasGranted })
}

async function walletOf(tx: Connection, owner: QuotaOwner): Promise<Address> {
  if ('publicId' in owner) {
    const key = await findKey(tx, owner.publicId)
    if (key !== undefined) return key.wallet
    throw new UpkeepError(`no key has the publicId ${owner.publicId}; see "sexton keys list"`)
  }
  const found = await tx.run(sql`select wallet from wallets where wallet = ${owner.wallet}`)
  if (found.length > 0) return owner.wallet
  throw new UpkeepError(
    `${showAddress(owner.wallet)} has never minted a key; a quota needs one, see "sexton keys list"`,
  )
}
