import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accountsMigrations } from '#main/stores.ts'
import { type Connection, type Engine, StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import type { BackupFacts } from '../backup/backup-file.ts'
import { ACCOUNT_TABLES, copiedAccounts, differencesIn, firstFew } from '../copied-stores.ts'
import {
  copyTables,
  proveTables,
  type TableProofs,
  tableWithRows,
  unequalTables,
} from '../copy-tables.ts'
import { revokeKeys } from '../keys/revoke-keys.ts'
import { lockCopies, recordCopy, wasCopied } from '../store-copies.ts'
import { UpkeepError } from '../upkeep-error.ts'
import { type KeysSince, type SeenKey, toSeen } from './keys-since.ts'

export interface RestoreInput {
  readonly backup: Engine
  readonly target: Engine
  readonly facts: BackupFacts
  readonly nowUnix: number
  keysSince(backup: ReadonlyMap<string, SeenKey>): KeysSince
  readonly revokesAgain: boolean
  readonly despiteDifferences: boolean
  onRows?(count: number): void
}

export interface Restored {
  readonly tables: TableProofs
  readonly since: KeysSince
  readonly differences: readonly string[]
}

/** A copy with the tables of this version; the backup itself stays as it is. */
export async function withBackup<T>(
  file: string,
  facts: BackupFacts,
  work: (backup: Engine) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-restore-'))
  const copy = join(folder, 'backup.sqlite')
  await copyFile(file, copy)
  const backup = openSqlite({ file: copy, durability: 'normal' })
  try {
    await proveBackup(backup, facts, file)
    await backup.migrate(accountsMigrations)
    return await work(backup)
  } finally {
    await backup.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function proveBackup(backup: Engine, facts: BackupFacts, file: string): Promise<void> {
  const { manifest, migrations } = facts
  const known = accountsMigrations.filter(({ id }) => migrations.has(id))
  if (known.length < migrations.size)
    throw new UpkeepError(
      `${file} is of a newer version (${manifest.version}); restore it with that version`,
    )
  const copied = { tables: [...manifest.tables.keys()], migrations: known }
  const found = await backup.snapshot((connection) =>
    proveTables({ connection, dialect: 'sqlite' }, copied),
  )
  const unequal = unequalTables(found, manifest.tables)
  if (unequal.length > 0)
    throw new UpkeepError(
      `${file} is damaged: ${unequal.join(', ')} are not as they were written; use another backup`,
    )
}

export async function restoreAccounts(input: RestoreInput): Promise<Restored> {
  const { target, facts, nowUnix } = input
  const id = `${facts.manifest.id}:${nowUnix}`
  const filled: { last?: Restored } = {}
  try {
    return await fillTarget(input, id, (restored) => {
      filled.last = restored
    })
  } catch (error) {
    // The answer to the commit may have been lost.
    if (filled.last !== undefined && (await isThere(target, id))) return filled.last
    throw error
  }
}

function isThere(target: Engine, id: string): Promise<boolean> {
  return wasCopied(target, id).catch((cause: unknown) => {
    if (!(cause instanceof StoreError)) throw cause
    throw new UpkeepError(
      `the new accounts store failed at the end, and only it knows whether it was filled; once it answers, look into its table "store_copies", and if that is empty, run this again (${cause.message})`,
      { cause },
    )
  })
}

function fillTarget(
  input: RestoreInput,
  id: string,
  onFilled: (restored: Restored) => void,
): Promise<Restored> {
  const { backup, target, facts, nowUnix, onRows } = input
  const copied = { ...copiedAccounts, ...(onRows !== undefined && { onRows }) }
  return backup.snapshot((reads) =>
    target.writeWithoutTimeout(async (tx) => {
      if (target.dialect === 'postgres') await lockCopies(tx)
      const table = await tableWithRows(tx, ACCOUNT_TABLES)
      if (table !== undefined)
        throw new UpkeepError(
          `the accounts have rows in "${table}"; restore into a new folder or an empty database`,
        )
      const tables = await copyTables({ connection: reads, dialect: 'sqlite' }, tx, copied)
      const state = { connection: tx, dialect: target.dialect }
      const unequal = unequalTables(tables, await proveTables(state, copied))
      if (unequal.length > 0) throw new UpkeepError(`the copies differ in ${unequal.join(', ')}`)
      const since = input.keysSince(await keysIn(tx))
      if (input.revokesAgain)
        await revokeKeys(
          tx,
          since.revoked.map(({ publicId }) => publicId),
          nowUnix,
        )
      const differences = await auditRestored(tx, input)
      const origin = `backup of ${new Date(facts.manifest.createdMs).toISOString()}`
      await recordCopy(tx, { id, kind: 'restore', origin, nowUnix })
      const restored = { tables, since, differences }
      onFilled(restored)
      return restored
    }),
  )
}

async function auditRestored(
  tx: Connection,
  { target, despiteDifferences }: RestoreInput,
): Promise<readonly string[]> {
  const differences = await differencesIn(tx, target.dialect)
  if (differences.length > 0 && !despiteDifferences)
    throw new UpkeepError(
      `the accounts of the backup fail their audit; use another, or restore it with --despite-differences: ${firstFew(differences)}`,
    )
  return differences
}

async function keysIn(tx: Connection): Promise<ReadonlyMap<string, SeenKey>> {
  const found = await tx.run(sql`select public_id, wallet, revoked_unix from keys`)
  return new Map(found.map(toSeen).map((key) => [key.publicId, key]))
}
