import assert from 'node:assert/strict'
import { judgeTiers } from '#accounts/metering/tier.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { applyConfig } from '#chains/indexer/indexed-config/apply-config.ts'
import { mayLead } from '#chains/indexer/indexed-config/may-lead.ts'
import { readIndexedConfig } from '#chains/indexer/indexed-config/tables.ts'
import { readHoldings } from '#chains/statistics/holdings.ts'
import { accounts } from '#devnet/addresses.ts'
import { auditRegister } from '#operations/audit/audit-register.ts'
import { Leader } from '#operations/jobs/leader.ts'
import { sql } from '#store/sql.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import {
  applyFile,
  GENESIS_UNIX,
  heldBack,
  indexAll,
  withChains,
  withoutEthereum,
  zeroOnly,
} from './changed-file-harness.ts'
import { openSource, startIndexer } from './indexed-ecosystem.ts'
import { startPostgres } from './postgres.ts'
import { readinessOf } from './readiness-harness.ts'
import { callRoute, dataRoutesOf, readRoute, refusalOf } from './route-reader.ts'
import { advanceAll, commitDepsOf, differenceOf } from './stepped-index.ts'

const onEach = eachEngine(startPostgres, registerMigrations)
const onPostgres = eachEngine(startPostgres, registerMigrations, ['postgres'])

onEach('a changed mapping empties the register, which is then read again', ({ engine: register }) =>
  withChains(async (at) => {
    await indexAll(register, at())
    const ecosystem = at(zeroOnly)
    const { changes, index } = await applyFile(register, ecosystem)
    assert.deepEqual(changes, [
      { chainId: 8453, name: 'burns', fields: ['burns[0].where changed'] },
    ])
    const routes = dataRoutesOf({ register, ecosystem })
    assert.equal((await refusalOf(routes, '/api/dividends/total')).code, 'data_not_ready')
    await advanceAll(index, ecosystem.chains)
    await onSqlite(registerMigrations, async ({ engine: fresh }) => {
      await indexAll(fresh, ecosystem)
      assert.equal(await differenceOf(register, fresh), undefined)
    })
    const found = await register.read(sql`
      select distinct kind from events where dataset = 'burns' and chain_id = 8453 and token = 'GRAVE'`)
    assert.deepEqual(found, [{ kind: 'burn' }])
  }),
)

onEach(
  'while the register is read again, no keys are minted and tiers stay as they are',
  ({ engine: register }) =>
    withChains(async (at) => {
      await indexAll(register, at())
      const wallet = accounts.holder.toLowerCase() as `0x${string}`
      const judge = async (ecosystem: Ecosystem) => {
        const deps = {
          ...{ register, ecosystem, clock: () => (GENESIS_UNIX + 30 * 3_600 + 140) * 1_000 },
        }
        const { gate } = ecosystem
        assert.ok(gate !== null && gate !== 'open')
        const { kind } = await readHoldings(deps, gate, wallet)
        return [kind, (await judgeTiers(deps, [wallet])).size]
      }
      assert.deepEqual(await judge(at()), ['ready', 1])
      const ecosystem = at(heldBack)
      assert.deepEqual(await judge(ecosystem), ['unavailable', 0], 'the index has the old file')
      const { index } = await applyFile(register, ecosystem)
      assert.deepEqual(await judge(ecosystem), ['unavailable', 0])
      await advanceAll(index, ecosystem.chains)
      assert.deepEqual(await judge(ecosystem), ['ready', 1])
    }),
)

onEach('a server whose file differs from the register is not ready and names the parts', (store) =>
  withChains(async (at) => {
    const register = store.engine
    await indexAll(register, at())
    const ecosystem = at(withoutEthereum)
    const { ready, parts } = await readinessOf(register, ecosystem)
    assert.equal(ready, false)
    assert.match(parts['ecosystem file'] ?? '', /chains\[1\] removed.*start an index with this one/)
  }),
)

onEach('a removed chain leaves no trace, before and after the index applies the file', (store) =>
  withChains(async (at) => {
    const register = store.engine
    await indexAll(register, at())
    const ecosystem = at(withoutEthereum)
    const routes = dataRoutesOf({ register, ecosystem })
    for (const target of ['/api/stats', '/api/burns/recent', '/api/dividends/recent'])
      assert.equal((await refusalOf(routes, target)).code, 'data_not_ready')
    await indexAll(register, ecosystem)
    const recent = await readRoute(routes, '/api/burns/recent?limit=100')
    assert.ok(Array.isArray(recent.data) && recent.data.length > 0)
    assert.ok(recent.data.every((row) => row.chain === 'base'))
    for (const table of ['events', 'balances', 'supply_buckets', 'event_buckets', 'positions']) {
      const name = { kind: 'sql', parts: [table], values: [] } as const
      assert.deepEqual(
        await register.read(sql`select 1 from ${name} where chain_id = 1 limit 1`),
        [],
      )
    }
  }),
)

onEach('a standby with an older file does not bring it back', (store) =>
  withChains(async (at) => {
    const register = store.engine
    await indexAll(register, at())
    await indexAll(register, at(zeroOnly))
    const file = filePartsOf(at())
    const may = (hasWaited: boolean, own = file) =>
      register.snapshot((reads) => mayLead(reads, { file: own, hasWaited }))
    assert.equal(await may(true), false)
    assert.equal(await may(false), true, 'a restart with the old file restores it')
    assert.equal(
      await may(true, filePartsOf(at(zeroOnly))),
      true,
      'it has the file of the register',
    )
    assert.equal(await may(true, filePartsOf(at(heldBack))), true, 'its file is a new one')
  }),
)

onEach(
  'a process that waited while another applied its file checks again before it applies its own',
  ({ engine }) =>
    withChains(async (at) => {
      await indexAll(engine, at())
      await indexAll(engine, at(zeroOnly))
      const older = at()
      const deps = await commitDepsOf(engine, older)
      const waited = { ...deps, file: filePartsOf(older), hasWaited: true }
      assert.equal(await applyConfig(waited), undefined)
      const indexed = await engine.snapshot(readIndexedConfig)
      assert.equal(indexed?.digest, filePartsOf(at(zeroOnly)).digest)
    }),
)

onPostgres(
  'an indexer that waited for a live leader does not bring its older file back, one that starts alone does',
  (store) =>
    withChains(async (at) => {
      const register = store.engine
      await indexAll(register, at())
      await indexAll(register, at(zeroOnly))
      for (const waits of [true, false]) {
        const [waited, outdated, indexed] = [1, 2, 3].map(() => Promise.withResolvers<void>())
        const leader = new Leader({ engine: register, name: 'index' })
        if (waits) assert.ok(await leader.take())
        const more = {
          onLead: waited?.resolve,
          onOutdated: outdated?.resolve,
          onConfigApplied: indexed?.resolve,
        }
        const running = startIndexer({ ecosystem: at(), register }, more as object)
        await waited?.promise
        await leader.handOver()
        await (waits ? outdated : indexed)?.promise
        await running.stop()
      }
    }),
)

onEach('an audit whose file differs from the register says so and compares nothing', (store) =>
  withChains(async (at) => {
    await indexAll(store.engine, at())
    const verdict = await auditRegister({
      ...{ ecosystem: at(zeroOnly), register: store.engine, clock: Date.now },
      ...{ sourceOf: openSource, onProgress: () => undefined, note: () => undefined },
    })
    assert.deepEqual(verdict, { kind: 'other-file', parts: ['burns[0].where changed'] })
  }),
)

onEach('an edit without a re-read changes the ETags of affected answers', (store) =>
  withChains(async (at) => {
    const register = store.engine
    await indexAll(register, at())
    const renamed = at((file) => ({
      ...file,
      tokens: file.tokens.map((token) => ({ ...token, name: `${token.name} II` })),
    }))
    assert.deepEqual((await applyFile(register, renamed)).changes, [])
    const etagOf = async (ecosystem: Ecosystem) => {
      const routes = dataRoutesOf({ register, ecosystem, clock: () => 0 })
      const outcome = await callRoute(routes, '/api/stats')
      return outcome.kind === 'answer' ? outcome.etag : undefined
    }
    assert.equal(await etagOf(at()), await etagOf(at()))
    assert.notEqual(await etagOf(renamed), await etagOf(at()))
  }),
)
