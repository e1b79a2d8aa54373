import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { readStalledDatasets } from '#chains/indexer/stalled-datasets/table.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { Engine } from '#store/engine.ts'
import type { BuiltChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { buildAnew, differenceOf } from '#test/stepped-index.ts'
import { type EngineTest, eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { baseWith, inOne, onBase } from '#test/token-world.ts'
import { digsBy, withModule } from './code-world.ts'

const on = (engine: Engine['dialect']) => eachEngine(startPostgres, registerMigrations, [engine])

const { grave, graveyard } = addresses.base
const { holder, operator } = accounts
const dig = (id: bigint) => [logOf.dig(graveyard, holder, id, 5n)]

const ENDLESS = `export function rows(event) {
  while (event.args.graveId === 13n) {}
  return [{ digger: event.args.digger, amount: event.args.amount }]
}
`

const begun = baseWith([logOf.mint(grave, operator, 9n)], dig(1n))

/** Each on one engine, since both ways use the same statements and wait for seconds of endless code. */
const cases: readonly (readonly [
  when: string,
  onEngine: EngineTest,
  first: BuiltChain,
  stalling: BuiltChain,
])[] = [
  ['in the first reading', on('sqlite'), begun.add(inOne(dig(13n), 7)).addEmpty(120), begun],
  ['at the head', on('postgres'), begun.addEmpty(120), begun.addEmpty(120).add(inOne(dig(13n), 7))],
]

for (const [when, onEngine, first, stalling] of cases)
  onEngine(
    `code that never ends ${when} stalls its dataset alone, and skips nothing`,
    ({ engine }) =>
      withModule(ENDLESS, async (module) => {
        const node = await serveChain(first)
        after(() => node.stop())
        const ecosystemNow = () =>
          localEcosystemAt({ base: node.url }, (file) => digsBy(module.path)(onBase(file)))
        const ecosystem = ecosystemNow()
        const read = async (target: string) => {
          const routes = dataRoutesOf({ register: engine, ecosystem: ecosystemNow() })
          return (await readRoute(routes, target)).data as readonly Record<string, unknown>[]
        }
        const indexer = startIndexer({ ecosystem, register: engine })
        try {
          if (stalling !== begun) {
            await indexer.caughtUp()
            node.chain = stalling
          }
          await until(async () => (await stalledOf(engine)).some(({ waits }) => !waits))
          node.chain = node.chain.add(inOne([logOf.burn(grave, operator, 2n)], 8)).addEmpty(2)
          await until(async () => (await read('/api/burns/recent')).length === 1)
          const { parts } = await readinessOf(engine, ecosystem)
          assert.match(
            parts['code of grave-digs on base'] ?? '',
            /^stalled, nothing is skipped: digs.ts: took more than 1000 ms at log 0 of 0x[0-9a-f]{64} in/,
          )
          assert.doesNotMatch(parts['chain base'] ?? '', /stalled/)
        } finally {
          await indexer.stop()
        }
        module.write(ENDLESS.replace('13n', '14n'))
        const again = startIndexer({ ecosystem: ecosystemNow(), register: engine })
        try {
          await again.caughtUp()
          await until(async () => (await stalledOf(engine)).length === 0)
        } finally {
          await again.stop()
        }
        const [leader] = await read('/api/grave-digs/leaderboard')
        assert.equal(leader?.digCount, 2)
        await onSqlite(registerMigrations, async ({ engine: fresh }) => {
          await buildAnew({ lived: engine, fresh, ecosystem: ecosystemNow() })
          assert.equal(await differenceOf(engine, fresh), undefined)
        })
      }),
  )

const stalledOf = (engine: Engine) => engine.snapshot(readStalledDatasets)

async function until(isThere: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 100) {
    if (await isThere().catch(() => false)) return
    await sleep(100)
  }
  throw new Error('waited for too long')
}
