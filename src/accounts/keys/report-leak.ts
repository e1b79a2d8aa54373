import { Type } from 'typebox'
import { isSecret, secretDigest } from '#accounts/keys/key-store.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import type { Context } from '#context.ts'
import { named } from '#lib/schema.ts'
import { unixNow } from '#lib/time.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'
import { findKeysByDigest, markRevoked } from './key-store.ts'
import { noteKeyChange } from './revoked-keys.ts'

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
      202: {
        description: 'Received.',
        schema: named('LeakReceipt', { received: Type.Boolean() }),
      },
    },
    refusals: [],
    async handle({ body: { secret } }): Promise<Answer> {
      if (isSecret(ctx.ecosystem.service.keyPrefix, secret))
        await killLeaked(ctx, secretDigest(secret))
      return answer(202, { received: true })
    },
  })
}

async function killLeaked(ctx: Context, digest: string): Promise<void> {
  const key = (await findKeysByDigest(ctx.accounts, [digest])).get(digest)
  if (key === undefined) return
  const nowUnix = unixNow(ctx.clock)
  const revoked = await ctx.accounts.write((connection) =>
    markRevoked(connection, { ...key, nowUnix }),
  )
  forgetKey(ctx, digest)
  if (revoked === undefined) return
  noteKeyChange(ctx, { kind: 'revoked', publicId: key.publicId, owner: key.wallet })
}
