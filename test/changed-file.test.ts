import assert from 'node:assert/strict'
import { readGate, readShares } from '#accounts/metering/tier.ts'
import { isRefusal } from '#base/refusal.ts'
import { registerMigrations, registerName } from '#data/datasets.ts'
import { accounts } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { GENESIS_UNIX, indexAll, withChains } from './changed-file-harness.ts'
import { startPostgres } from './postgres.ts'
import { callRoute, dataRoutesOf, refusalOf } from './route-reader.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

onEach('until its register has blocks, a file has no figures, gate or tiers', ({ engine }) =>
  withChains(async (at) => {
    const ecosystem = at()
    const wallet = accounts.holder.toLowerCase() as `0x${string}`
    const judge = async () => {
      const clock = () => (GENESIS_UNIX + 30 * 3_600 + 140) * 1_000
      const deps = { register: engine, ecosystem, clock }
      const isReady = !isRefusal(await readGate(deps, wallet))
      return [isReady, (await readShares(deps, wallet))?.length]
    }
    assert.deepEqual(await judge(), [false, undefined])
    const routes = dataRoutesOf({ register: engine, ecosystem })
    for (const target of ['/api/stats', '/api/burns/recent', '/api/dividends/total'])
      assert.equal((await refusalOf(routes, target)).code, 'data_not_ready')
    await indexAll(engine, ecosystem)
    assert.deepEqual(await judge(), [true, 1])
  }),
)

onEach('an edit that shapes no figure keeps the register and changes the ETags', ({ engine }) =>
  withChains(async (at) => {
    await indexAll(engine, at())
    const renamed = at((file) => ({
      ...file,
      tokens: file.tokens.map((token) => ({ ...token, name: `${token.name} II` })),
    }))
    assert.equal(registerName(renamed), registerName(at()))
    const etagOf = async (ecosystem: Ecosystem) => {
      const routes = dataRoutesOf({ register: engine, ecosystem, clock: () => 0 })
      const outcome = await callRoute(routes, '/api/stats')
      return outcome.kind === 'answer' ? outcome.etag : undefined
    }
    assert.equal(await etagOf(at()), await etagOf(at()))
    assert.notEqual(await etagOf(renamed), await etagOf(at()))
  }),
)
