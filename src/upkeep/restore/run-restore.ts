import { existsSync } from 'node:fs'
import { unixNow } from '#lib/time.ts'
import type { RoleContext } from '#main/role-context.ts'
import { lockFolder } from '#main/roles/lock-folder.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { type BackupFacts, readFacts } from '../backup/backup-file.ts'
import type { Report } from '../report.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { compareKeys, keysOfLog, keysOfStore, type SeenKey, type SinceKey } from './keys-since.ts'
import { type Restored, restoreAccounts, withBackup } from './restore-accounts.ts'

export interface RestoreOptions {
  readonly file: string
  readonly old?: string
  readonly log: readonly string[]
  readonly revokeAgain: boolean
  readonly despiteDifferences: boolean
}

type Context = Pick<RoleContext, 'settings' | 'clock' | 'progress'>

export async function runRestore(
  context: Context,
  report: Report,
  options: RestoreOptions,
): Promise<void> {
  const { file } = options
  if (!existsSync(file)) throw new SettingsError(`no such file: ${file}; name a backup`)
  const facts = readFacts(file)
  const sources = await readSources(report, options)
  const { dataFolder } = context.settings
  const unlock = await lockFolder(dataFolder)
  try {
    await withBackup(file, facts, (backup) =>
      onEmpty(context, async (target) => {
        const { seen } = sources
        const restored = await fill(context, { backup, target, facts, options, seen })
        tell(report, { restored, facts, options, sources })
      }),
    )
  } finally {
    unlock()
  }
}

interface Sources {
  readonly seen: readonly SeenKey[]
  readonly names: readonly string[]
}

/** A lost disk is the usual reason for a restore, so an unreadable old store is no failure. */
async function readSources(report: Report, { old, log }: RestoreOptions): Promise<Sources> {
  const seen: SeenKey[] = []
  const names: string[] = []
  const add = async (name: string, keys: () => Promise<readonly SeenKey[]>) => {
    try {
      seen.push(...(await keys()))
      names.push(name)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      report.say(`${name} cannot be read, so what it knew is not listed (${reason})`)
    }
  }
  if (old !== undefined) await add('the old accounts', () => keysOfOld(old))
  for (const each of log) await add(each, () => Array.fromAsync(keysOfLog(each)))
  return { seen, names }
}

async function keysOfOld(place: string): Promise<readonly SeenKey[]> {
  const engine = openOld(place)
  try {
    return await engine.snapshot((reads) => Array.fromAsync(keysOfStore(reads)))
  } finally {
    await engine.close()
  }
}

function openOld(place: string): Engine {
  if (/^postgres(ql)?:/.test(place)) return openPostgres({ url: place, schema: 'accounts' })
  const file = storeFile(place, 'accounts')
  if (!existsSync(file)) throw new UpkeepError(`no such file: ${file}`)
  return openSqlite({ file, durability: 'normal' })
}

async function onEmpty(
  { settings: { dataFolder, accounts } }: Context,
  work: (target: Engine) => Promise<void>,
): Promise<void> {
  try {
    const target = await openStore(dataFolder, 'accounts', accounts)
    try {
      await migrateStore(target, 'accounts')
      await work(target)
    } finally {
      await target.close()
    }
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new UpkeepError(
      `nothing was restored: the new accounts store failed; name a new folder with --data, or an empty database (${cause.message})`,
      { cause },
    )
  }
}

function fill(
  { clock, progress }: Context,
  {
    backup,
    target,
    facts,
    options,
    seen,
  }: {
    readonly backup: Engine
    readonly target: Engine
    readonly facts: BackupFacts
    readonly options: RestoreOptions
    readonly seen: readonly SeenKey[]
  },
): Promise<Restored> {
  const total = 2 * [...facts.manifest.tables.values()].reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  return restoreAccounts({
    backup,
    target,
    facts,
    nowUnix: unixNow(clock),
    keysSince: (known) => compareKeys(seen, known),
    revokesAgain: options.revokeAgain,
    despiteDifferences: options.despiteDifferences,
    onRows(count) {
      done += count
      progress.update('restoring', done, total)
    },
  })
}

function tell(
  report: Report,
  {
    restored: { tables, since, differences },
    facts,
    options,
    sources,
  }: {
    readonly restored: Restored
    readonly facts: BackupFacts
    readonly options: RestoreOptions
    readonly sources: Sources
  },
): void {
  const backupAt = new Date(facts.manifest.createdMs).toISOString()
  const isKnown = sources.names.length > 0
  report.say(`Restored the accounts as of ${backupAt}, and audited them.`)
  for (const difference of differences) report.say(`WRONG  ${difference}`)
  if (!isKnown)
    report.say('Keys minted or revoked since are not known: name --old or --log to list them.')
  else if (options.old === undefined)
    report.say(
      'Revocations by "sexton keys revoke" are in revocations.jsonl of the old data folder: name it with --log too.',
    )
  report.say(
    'Not in the backup: calls since (not charged), grants since (repeat them with their --id), and payments since (their payers claim them again; "sexton audit" counts them).',
  )
  list(report, 'minted since, gone with the old accounts', since.minted)
  list(
    report,
    options.revokeAgain ? 'revoked since, revoked again' : 'revoked since, VALID AGAIN',
    since.revoked,
  )
  if (since.revoked.length > 0 && !options.revokeAgain)
    report.say(`sexton keys revoke ${since.revoked.map(({ publicId }) => publicId).join(' ')}`)
  report.done({
    backupAt,
    tables: Object.fromEntries(tables),
    differences,
    keysSinceFrom: sources.names,
    mintedSince: since.minted,
    revokedSince: since.revoked,
    revokedAgain: options.revokeAgain,
  })
}

function list(report: Report, what: string, keys: readonly SinceKey[]): void {
  for (const { publicId, owner } of keys) report.say(`${publicId}  ${owner}  ${what}`)
}
