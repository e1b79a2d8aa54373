import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '#config.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { openStores } from '#main/stores.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { firstPrices } from '#test/hostile-tokens/price-recipes.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { inTokenWorld, oldBaseWith, onBase } from '#test/token-world.ts'
import { auditAll } from './audit.ts'

test('a log about an unlisted token is a note of the audit, not a difference', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-unlisted-'))
  context.after(() => rm(folder, { recursive: true }))
  const config = readConfig({ SEXTON_DATA: folder }, { isTty: false })
  const url = 'http://127.0.0.1:9'
  const stores = await openStores(config, localEcosystemAt({ base: url }, onBase))
  const { distributor } = addresses.base
  const stranger = logOf.claim(distributor, accounts.holder, accounts.poor, 0n)
  const chain = oldBaseWith(firstPrices, [stranger])
  await inTokenWorld(stores.register, { chain }, async ({ catchUp, ecosystem }) => {
    await catchUp()
    await stores.close()
    const notes: string[] = []
    const differences = await auditAll({
      ...{ config, ecosystem, clock: Date.now, logger: pino({ level: 'silent' }) },
      onProgress: () => undefined,
      note: (text) => void notes.push(text),
    })
    assert.deepEqual(differences, [])
    assert.match(notes.join(), /1 logs are of unlisted tokens, the last in block 3/)
  })
})
