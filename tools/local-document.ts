import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { openApiOf } from '#api/document-pages.ts'
import { healthRoutes } from '#api/health-routes.ts'
import { metaRoute } from '#api/meta-route.ts'
import localEcosystem from '#chains/ecosystem/ecosystems/local.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { readConfig } from '#config.ts'
import { compose } from '#main/start/serve.ts'
import { topupRoutes } from '#money/x402/topup-routes.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'

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
    return openApiOf(ctx, routes)
  } finally {
    await engine.close()
    await rm(folder, { recursive: true })
  }
}
