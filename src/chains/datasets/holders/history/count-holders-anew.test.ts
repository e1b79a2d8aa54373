import assert from 'node:assert/strict'
import { accounts, addresses } from '#devnet/addresses.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { indexAll } from '#test/changed-file-harness.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../../datasets.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const { grave } = addresses.base
const { operator, holder, premium } = accounts

onEach(
  'a chain that is read again from before its mints counts each holder once',
  async ({ engine }) => {
    const chain = beginChain(8453, 1_700_000_000)
      .add({ logs: [logOf.mint(grave, operator, 9n)] })
      .add({ logs: [logOf.transfer(grave, operator, holder, 3n)] })
      .add({ logs: [logOf.transfer(grave, operator, premium, 3n)] })
      .addEmpty(100)
    const base = await serveChain(chain)
    try {
      const startingAt = (startBlock: number) =>
        oneTokenEcosystemAt(base.url, (one) => ({
          ...one,
          chains: one.chains.map((each) => ({ ...each, startBlock })),
        }))
      await indexAll(engine, startingAt(2))
      await indexAll(engine, startingAt(0))
      const routes = dataRoutesOf({ register: engine, ecosystem: startingAt(0) })
      const { data } = (await readRoute(routes, '/api/stats')) as {
        readonly data: { readonly holderCount: number }
      }
      assert.equal(data.holderCount, 3)
    } finally {
      await base.stop()
    }
  },
)
