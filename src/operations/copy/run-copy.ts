import { SettingsError } from '#main/settings-error.ts'
import type { Report } from '#operations/upkeep/report.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import { InUseError, StoreError } from '#store/engine.ts'
import { backUp } from './back-up.ts'
import type { CopyContext } from './copy-context.ts'
import { move } from './move.ts'
import { placeOf, storesIn } from './place.ts'
import { restore } from './restore.ts'

export interface CopyOptions {
  /** Defaults to the stores of the settings. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Data folder or URL of the accounts that a restore replaces. */
  readonly old?: string | undefined
  readonly despiteDifferences: boolean
}

/** Backs up to a file, restores from one, or moves between stores, which closes the source. */
export async function runCopy(
  context: CopyContext,
  report: Report,
  { from: fromText, to: toText, old, despiteDifferences }: CopyOptions,
): Promise<void> {
  if (fromText === undefined && toText === undefined)
    throw new SettingsError('name --from or --to; the other one is the configured stores')
  const from = fromText === undefined ? storesIn(context.settings) : placeOf(fromText)
  const to = toText === undefined ? storesIn(context.settings) : placeOf(toText)
  if (old !== undefined && from.kind !== 'file')
    throw new SettingsError('--old: only a restore, with a file as --from, looks into old accounts')
  try {
    if (from.kind === 'stores' && to.kind === 'stores') {
      if (fromText === undefined || toText === undefined)
        throw new SettingsError(
          'a move needs both --from and --to; a backup a file name that ends in .sqlite',
        )
      return await move(context, report, { from, to, despiteDifferences })
    }
    if (from.kind === 'stores' && to.kind === 'file')
      return await backUp(context, report, { ...to, from })
    if (from.kind === 'file' && to.kind === 'stores')
      return await restore(context, report, { ...from, to, old, despiteDifferences })
    throw new SettingsError('--to: copy a backup with "cp", or name a folder or a database')
  } catch (cause) {
    throw cause instanceof StoreError ? explain(cause) : cause
  }
}

function explain(cause: StoreError): UpkeepError {
  const advice = cause instanceof InUseError ? 'stop it' : 'check both sides'
  return new UpkeepError(`the copy failed: ${cause.message}; ${advice} and run this again`, {
    cause,
  })
}
