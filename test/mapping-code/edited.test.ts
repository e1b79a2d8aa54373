import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { applyFile, indexAll } from '#test/changed-file-harness.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { advanceAll, buildAnew, differenceOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { baseWith, onBase } from '#test/token-world.ts'
import { withModule } from './code-world.ts'

const both = eachEngine(startPostgres, registerMigrations)

const { grave, graveyard } = addresses.base
const { holder, operator } = accounts

const rowsOf = (amount: string) =>
  `export const rows = ({ args }) => [{ ...args, amount: ${amount} }]\n`

/** One module, and the same after an edit. */
function withModules(work: (before: string, after: string) => Promise<void>): Promise<void> {
  return withModule(rowsOf('args.amount'), (before) =>
    withModule(rowsOf('args.amount * 2n'), (after) => work(before, after)),
  )
}

both('an edited module re-indexes its own dataset, and no other', ({ engine: register }) =>
  withModules(async (plain, double) => {
    const node = await serveChain(
      baseWith(
        [logOf.mint(grave, operator, 9n), logOf.burn(grave, operator, 2n)],
        [logOf.dig(graveyard, holder, 1n, 5n)],
      ).addEmpty(120),
    )
    const ecosystemWith = (rows: string) =>
      localEcosystemAt({ base: node.url }, (all) => {
        const file = onBase(all)
        return {
          ...file,
          graveDigs: file.graveDigs.map(({ digger: _, graveId: __, amount: ___, ...dig }) => ({
            ...dig,
            rows,
          })),
        }
      })
    try {
      await indexAll(register, ecosystemWith(plain))
      assert.deepEqual((await applyFile(register, ecosystemWith(plain))).changes, [])
      const ecosystem = ecosystemWith(double)
      const ahead = dataRoutesOf({ register, ecosystem })
      const refused = await refusalOf(ahead, '/api/grave-digs')
      assert.equal(refused.code, 'data_not_ready', 'a replica with other bytes than the index')
      const { changes, index } = await applyFile(register, ecosystem)
      assert.deepEqual(changes, [
        { chainId: 8453, name: 'grave-digs', fields: ['graveDigs[0].rows changed'] },
      ])
      const routes = dataRoutesOf({ register, ecosystem })
      assert.equal((await refusalOf(routes, '/api/grave-digs')).code, 'data_not_ready')
      const burns = await readRoute(routes, '/api/burns/recent')
      assert.equal((burns.data as readonly unknown[]).length, 1)
      await advanceAll(index, ecosystem.chains)
      const digs = await readRoute(dataRoutesOf({ register, ecosystem }), '/api/grave-digs')
      const [dig] = digs.data as readonly Record<string, unknown>[]
      assert.deepEqual([dig?.amountRaw, dig?.graveId], ['10', '1'])
      await onSqlite(registerMigrations, async ({ engine: fresh }) => {
        await buildAnew({ lived: register, fresh, ecosystem })
        assert.equal(await differenceOf(register, fresh), undefined)
      })
    } finally {
      await node.stop()
    }
  }),
)
