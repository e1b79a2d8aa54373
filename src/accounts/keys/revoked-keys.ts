import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import type { Engine } from '#store/engine.ts'
import { column, sql } from '#store/sql.ts'
import { markRevoked } from './key-store.ts'

/** A public id per line, beside embedded accounts: older accounts put back must not revive these keys. */
const FILE = 'revoked-keys.txt'

/** On the disk when it returns. */
export function noteRevokedKeys(folder: string, publicIds: readonly string[]): void {
  if (publicIds.length === 0) return
  const descriptor = openSync(join(folder, FILE), 'a', 0o600)
  try {
    // Each begins a line, also behind one that a power loss cut off.
    appendFileSync(descriptor, publicIds.map((publicId) => `\n${publicId}`).join(''))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export function readRevokedKeys(folder: string): readonly string[] {
  const file = join(folder, FILE)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

/** Revokes the keys of the list again, and adds those that a crash kept from it. */
export async function revokeAgain(
  folder: string,
  accounts: Engine,
  nowUnix: number,
): Promise<void> {
  const noted = new Set(readRevokedKeys(folder))
  const rows = await accounts.read(sql`select public_id from keys where revoked_unix is not null`)
  const revoked = new Set(rows.map((row) => column.text(row, 'public_id')))
  await accounts.write(async (tx) => {
    for (const publicId of noted.difference(revoked)) await markRevoked(tx, { publicId, nowUnix })
  })
  noteRevokedKeys(folder, [...revoked.difference(noted)])
}

interface KeyChange {
  readonly kind: 'minted' | 'revoked' | 'rotated' | 'limited'
  readonly publicId: string
  readonly owner: Address
  readonly successor?: string
}

/** Logs a committed change of a key and, for embedded accounts, notes a revoked one. */
export function noteKeyChange({ config, logger }: Context, change: KeyChange): void {
  const { kind, publicId } = change
  logger.info(change, `key ${kind}`)
  if (config.database.kind !== 'sqlite' || (kind !== 'revoked' && kind !== 'rotated')) return
  try {
    noteRevokedKeys(config.dataFolder, [publicId])
  } catch (err) {
    // The change is committed, and its answer may hold a secret.
    logger.error({ err, publicId }, `not noted in ${FILE}: a restore would revive the key`)
  }
}
