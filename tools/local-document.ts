import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { healthRoutes } from '#api/health-routes.ts'
import { metaRoute } from '#api/meta-route.ts'
import { toOpenApi } from '#api/openapi.ts'
import { readConfig } from '#config.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { compose } from '#main/serve.ts'
import { topupRoutes } from '#payments/x402/pay.ts'

/** The OpenAPI document of the local ecosystem on a server that settles payments. */
export async function localDocument() {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-document-'))
  const engine = openSqlite({ file: join(folder, 'empty.sqlite'), durability: 'normal' })
  const ecosystem = parseEcosystem('local', localEcosystem)
  try {
    const ctx = {
      ecosystem,
      ...{ register: engine, accounts: engine, admissions: engine },
      config: readConfig({ SEXTON_METRICS_PORT: 'off', SEXTON_DATA: folder }, { isTty: false }),
      clock: Date.now,
      logger: pino({ level: 'silent' }),
    }
    const composed = await compose(ctx)
    const routes = [
      ...composed.routes,
      ...topupRoutes(ctx),
      metaRoute(ctx),
      ...healthRoutes(composed),
    ]
    return toOpenApi(ctx, routes)
  } finally {
    await engine.close()
    await rm(folder, { recursive: true })
  }
}
