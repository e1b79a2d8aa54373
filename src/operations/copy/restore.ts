import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unixNow } from '#lib/time.ts'
import { noteRevokedKeys, notesFile, readKeyNotes } from '#main/key-notes.ts'
import { SettingsError } from '#main/settings-error.ts'
import { storeFile } from '#main/store-file.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import { revokeKeys } from '#operations/upkeep/keys/revoke-keys.ts'
import type { Report } from '#operations/upkeep/report.ts'
import { UpkeepError } from '#operations/upkeep/upkeep-error.ts'
import type { Engine } from '#store/engine.ts'
import { reopenStore } from '#store/migrate.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { type BackupFacts, readFacts } from './backup-file.ts'
import { copiedAccounts, recordCopy, requireAudited } from './copied-stores.ts'
import type { CopyContext } from './copy-context.ts'
import { copyStore } from './copy-store.ts'
import { digestTables, type TableDigests, unequalTables } from './copy-tables.ts'
import {
  compareKeys,
  type KeysSince,
  newestUseUnix,
  readKeys,
  type SeenKeys,
  type SinceKey,
} from './keys-since.ts'
import { aloneIn, placeOf, type StoresPlace, snapshotOf } from './place.ts'

interface RestoreOptions {
  readonly file: string
  readonly to: StoresPlace
  readonly old: string | undefined
  readonly despiteDifferences: boolean
}

interface Restored {
  readonly tables: TableDigests
  readonly since: KeysSince
  readonly differences: readonly string[]
}

/** Fills empty accounts from a backup, in one transaction. */
export async function restore(
  context: CopyContext,
  report: Report,
  options: RestoreOptions,
): Promise<void> {
  const { file, to } = options
  if (!existsSync(file)) throw new SettingsError(`no such file: ${file}; name a backup`)
  const facts = readFacts(file)
  const sources = await readSources(report, options)
  const restored = await withBackup(file, facts, async (backup) => {
    const target = await openStore(to.dataFolder, 'accounts', to.accounts)
    await migrateStore(target, 'accounts').finally(() => target.close())
    return fill(context, options, { backup, facts, seen: sources })
  })
  tell(report, facts, { restored, sources })
}

interface Sources extends SeenKeys {
  readonly names: readonly string[]
  /** Time when the old accounts last accepted a signed message, in Unix seconds; 0 if unknown. */
  readonly usedUnix: number
  readonly damaged: readonly { readonly folder: string; readonly damaged: number }[]
}

/** A lost disk is the usual reason for a restore, so old accounts that cannot be read are no failure. */
async function readSources(report: Report, { to, old: oldText }: RestoreOptions): Promise<Sources> {
  const old = oldText === undefined ? undefined : placeOf(oldText)
  if (old?.kind === 'file')
    throw new SettingsError('--old: name the data folder or the URL of the old accounts')
  if (old !== undefined) requireTraces(old)
  const folders = [to, old].flatMap((each) =>
    each?.accounts.kind === 'sqlite' ? [each.dataFolder] : [],
  )
  const found = folders.flatMap((folder) => {
    const read = readKeyNotes(folder)
    return read === undefined ? [] : [{ folder, ...read }]
  })
  const noted = {
    notes: found.flatMap(({ notes }) => notes),
    names: found.map(({ folder }) => folder),
    damaged: found.filter(({ damaged }) => damaged > 0),
  }
  const unread = { ...noted, old: [], usedUnix: 0 }
  if (old === undefined) return unread
  try {
    return { ...noted, names: [...noted.names, old.name], ...(await readOld(old)) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    report.say(`the old accounts cannot be read, so what only they knew is lost (${reason})`)
    return unread
  }
}

/** Reads accounts of a newer version too, or closed by a move. */
function readOld(place: StoresPlace): Promise<Pick<Sources, 'old' | 'usedUnix'>> {
  return snapshotOf(place, async ({ connection }) => ({
    old: await readKeys(connection),
    usedUnix: await newestUseUnix(connection),
  }))
}

/** A mistyped folder is not a loss. */
function requireTraces({ accounts, dataFolder }: StoresPlace): void {
  const traces = [storeFile(dataFolder, 'accounts'), notesFile(dataFolder)]
  if (accounts.kind === 'sqlite' && !traces.some((file) => existsSync(file)))
    throw new SettingsError(
      `--old: ${dataFolder} has neither accounts.sqlite nor revocations.jsonl; name the old data folder, or leave --old out`,
    )
}

/** A copy with the tables of this version; the backup itself stays as it is. */
async function withBackup<T>(
  file: string,
  facts: BackupFacts,
  work: (backup: Engine) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-restore-'))
  const copy = join(folder, 'backup.sqlite')
  try {
    await copyFile(file, copy)
    const backup = openSqlite({ file: copy, durability: 'normal' })
    try {
      await proveBackup(backup, facts, file)
      await backup.write(reopenStore)
      await backup.migrate(accountsMigrations)
      return await work(backup)
    } finally {
      await backup.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function proveBackup(
  backup: Engine,
  { manifest, migrations }: BackupFacts,
  file: string,
): Promise<void> {
  const known = accountsMigrations.filter(({ id }) => migrations.has(id))
  if (known.length < migrations.size)
    throw new UpkeepError(
      `${file} is of a newer version (${manifest.version}); restore it with that version`,
    )
  const copied = { tables: [...manifest.tables.keys()], migrations: known }
  const found = await backup.snapshot((connection) =>
    digestTables({ connection, dialect: 'sqlite' }, copied),
  )
  const unequal = unequalTables(found, manifest.tables)
  if (unequal.length > 0)
    throw new UpkeepError(
      `${file} is damaged: ${unequal.join(', ')} are not as they were written; use another backup`,
    )
}

function fill(
  { clock, progress }: CopyContext,
  { to, despiteDifferences }: RestoreOptions,
  {
    backup,
    facts: { manifest },
    seen,
  }: { readonly backup: Engine; readonly facts: BackupFacts; readonly seen: Sources },
): Promise<Restored> {
  const { createdMs } = manifest
  const task = { name: 'restoring', progress }
  return backup.snapshot((reads) =>
    aloneIn(to, 'accounts', async (target) => {
      const source = { connection: reads, dialect: 'sqlite' } as const
      const tables = await copyStore(source, target, copiedAccounts, task)
      const since = compareKeys(seen, { keys: await readKeys(reads), createdMs })
      const revoked = since.revoked.map(({ publicId }) => publicId)
      await revokeKeys(target.connection, revoked, unixNow(clock))
      const differences = await requireAudited(target, despiteDifferences)
      // Before the commit, so that a kill leaves no key without its note.
      await noteRevokedKeys(to, target.connection)
      const origin = `backup of ${new Date(createdMs).toISOString()}`
      await recordCopy(target, { kind: 'restore', origin, clock, usedUnix: seen.usedUnix })
      return { tables, since, differences }
    }),
  )
}

function tell(
  report: Report,
  { manifest }: BackupFacts,
  { restored, sources }: { readonly restored: Restored; readonly sources: Sources },
): void {
  const { tables, since, differences } = restored
  const backupAt = new Date(manifest.createdMs).toISOString()
  report.say(`Restored the accounts as of ${backupAt}, and audited them.`)
  for (const difference of differences) report.say(`WRONG  ${difference}`)
  if (sources.names.length === 0)
    report.say(
      'Keys revoked since are not known, and VALID AGAIN: found no revocations.jsonl; name the old folder or database with --old, or revoke them with "sexton keys revoke".',
    )
  for (const { folder, damaged } of sources.damaged)
    report.say(
      `${damaged} lines of ${notesFile(folder)} cannot be read: keys may be VALID AGAIN; revoke those that the log names with "sexton keys revoke".`,
    )
  report.say(
    'Not in the backup: calls since (not charged), grants since (repeat them with their --id), quotas granted or withdrawn since ("sexton keys list" shows those that hold), and payments since (their payers claim them again; "sexton audit" counts them).',
  )
  list(report, 'minted since, gone with the old accounts', since.minted)
  list(report, 'revoked since, revoked again', since.revoked)
  list(report, 'limited since, has the limits of the backup', since.limited)
  report.done(
    {
      backupAt,
      tables: Object.fromEntries(tables),
      differences,
      keysSinceFrom: sources.names,
      damagedNotes: sources.damaged,
      mintedSince: since.minted,
      revokedSince: since.revoked,
      limitedSince: since.limited,
    },
    sources.damaged.length === 0 ? 0 : 1,
  )
}

function list(report: Report, what: string, keys: readonly SinceKey[]): void {
  for (const { publicId, owner } of keys) report.say(`${publicId}  ${owner}  ${what}`)
}
