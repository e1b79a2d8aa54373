import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Config, readConfig } from '#config.ts'
import { registerName } from '#data/datasets.ts'
import { sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { storeFile } from '#main/registers.ts'
import { checkRegister } from '#ops/setup/check-file.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { SILENT } from '#test/test-context.ts'
import { deleteUnserved, noteServed } from './registers.ts'
import { openStore, openStores } from './stores.ts'

const server = await startPostgres()
const folder = mkdtempSync(join(tmpdir(), 'sexton-registers-'))
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const old = localEcosystemAt({})
const edited = localEcosystemAt({}, ({ graveDigs: _, ...file }) => file)

async function exists(config: Config, ecosystem: Ecosystem): Promise<boolean> {
  const name = registerName(ecosystem)
  if (config.database.kind === 'sqlite') return existsSync(storeFile(config.dataFolder, name))
  const accounts = await openStore('', 'accounts', config.database)
  const found = await accounts.read(sql`
    select 1 from information_schema.schemata where schema_name = ${name}`)
  await accounts.close()
  return found.length > 0
}

for (const engine of ['SQLite', 'PostgreSQL'])
  test(`${engine}: a register that no process has served for an hour is deleted once a newer one is whole, and no other`, async () => {
    const url = engine === 'SQLite' ? {} : { SEXTON_DATABASE_URL: await server.createDatabase() }
    const config = readConfig({ SEXTON_DATA: folder, ...url }, { isTty: false })
    let nowMs = 1_800_000_000_000
    const serve = async (ecosystem: Ecosystem, isWhole = true) => {
      const stores = await openStores(config, ecosystem)
      const ctx = { config, ecosystem, ...stores, clock: () => nowMs, logger: SILENT }
      await noteServed(ctx)
      if (isWhole)
        await stores.accounts.write((tx) =>
          tx.run(sql`update registers set whole_unix = made_unix`),
        )
      await deleteUnserved(ctx)
      await stores.close()
    }
    assert.match((await checkRegister(config, old)) ?? '', /^no register is built from this file/)
    await serve(old)
    nowMs += 59 * 60_000
    await serve(edited, false)
    assert.deepEqual([await exists(config, old), await exists(config, edited)], [true, true])
    nowMs += 2 * 60 * 60_000
    await serve(old)
    assert.deepEqual([await exists(config, old), await exists(config, edited)], [true, true])
    nowMs += 2 * 60 * 60_000
    await serve(edited)
    assert.deepEqual([await exists(config, old), await exists(config, edited)], [false, true])
    assert.equal(await checkRegister(config, edited), undefined)
  })
