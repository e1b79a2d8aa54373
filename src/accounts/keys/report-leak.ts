import { Type } from 'typebox'
import { named } from '#lib/schema.ts'
import { unixNow } from '#lib/time.ts'
import { type Answer, answer, defineRoute, type Route } from '#route/route.ts'
import type { KeyDeps } from './authorise.ts'
import { findKeysByDigest, markRevoked } from './key-store.ts'
import { isSecret, secretDigest } from './secret.ts'

export function reportLeakRoute(deps: KeyDeps): Route {
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
      if (isSecret(deps.keyPrefix, secret)) await killLeaked(deps, secretDigest(secret))
      return answer(202, { received: true }, { headers: { 'Cache-Control': 'no-store' } })
    },
  })
}

async function killLeaked(deps: KeyDeps, digest: string): Promise<void> {
  const key = (await findKeysByDigest(deps.engine, [digest])).get(digest)
  if (key === undefined) return
  const nowUnix = unixNow(deps.clock)
  const revoked = await deps.engine.write((connection) =>
    markRevoked(connection, { ...key, nowUnix }),
  )
  deps.callers.forget(digest)
  if (revoked === undefined) return
  deps.onKeyChange?.({ kind: 'revoked', publicId: key.publicId, owner: key.wallet })
}
