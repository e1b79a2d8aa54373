import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { findActiveKey, isSecret, markRevoked, secretDigest } from '#accounts/keys/key-store.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import type { Address } from '#base/address.ts'
import { named } from '#base/schema.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { answer, defineRoute, type Route } from '#route.ts'

/** One public id per line, next to embedded accounts, so that a restored backup does not revive revoked keys. */
const FILE = 'revoked-keys.txt'

/** Syncs the file to disk before it returns. */
export function noteRevokedKeys(folder: string, publicIds: readonly string[]): void {
  if (publicIds.length === 0) return
  const descriptor = openSync(join(folder, FILE), 'a', 0o600)
  try {
    // The leading newline keeps an id intact after a line that a power loss cut off.
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

/** Revokes the listed keys again, and lists revoked ones that a crash kept out of the file. */
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
    // Only log: the change is committed, and its answer may hold a secret.
    logger.error({ err, publicId }, `not noted in ${FILE}: a restore would revive the key`)
  }
}

export function reportLeakRoute(ctx: Context): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/keys/report-leak',
    operationId: 'reportLeak',
    tag: 'Keys',
    summary: 'Report a leaked secret',
    description:
      'Anyone who finds a secret can have it revoked; for secret scanners too. The answer is the same whether the secret was good or not.',
    metered: false,
    guard: 'mint',
    parameters: {},
    body: Type.Object({
      secret: Type.String({ maxLength: 256, description: 'The whole secret.' }),
    }),
    answers: {
      202: { description: 'Received.', schema: named('LeakReceipt', { received: Type.Boolean() }) },
    },
    refusals: [],
    async handle({ body: { secret } }) {
      if (isSecret(ctx.ecosystem.service.keyPrefix, secret))
        await killLeaked(ctx, secretDigest(secret))
      return answer(202, { received: true })
    },
  })
}

async function killLeaked(ctx: Context, digest: string): Promise<void> {
  const key = await findActiveKey(ctx.accounts, digest)
  const nowUnix = unixNow(ctx.clock)
  const revoked = key && (await ctx.accounts.write((tx) => markRevoked(tx, { ...key, nowUnix })))
  forgetKey(ctx, digest)
  if (revoked !== undefined)
    noteKeyChange(ctx, { kind: 'revoked', publicId: revoked.publicId, owner: revoked.wallet })
}
