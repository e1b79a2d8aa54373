import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations, registerName } from '#data/datasets.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { buildAnew, differenceOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { baseWith, inOne, inTokenWorld, oldBaseWith, type TokenWorld } from '#test/token-world.ts'
import { digsBy, withModule } from './code-world.ts'

const both = eachEngine(startPostgres, registerMigrations)

const { grave, graveyard } = addresses.base
const { holder, operator } = accounts
const dig = (id: bigint, amount: bigint) => logOf.dig(graveyard, holder, id, amount)

/** Splits a dig by its grave: that many rows of the amount. */
const SPLIT = `import type { GraveDigRow, MappedEvent } from 'sexton'

export function rows(event: MappedEvent<{ digger: string; graveId: bigint; amount: bigint }>): GraveDigRow[] {
  const { digger, graveId, amount } = event.args
  return Array.from({ length: Number(graveId) }, (_, index) => ({
    digger,
    amount: amount + BigInt(index),
    graveId: \`\${graveId}-\${index} \${event.block.number} \${event.logs?.length ?? 'none'}\`,
  }))
}
`

async function listAll(
  world: TokenWorld,
  limit: number,
): Promise<readonly Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  let cursor = ''
  for (;;) {
    const { data, meta } = await world.read(`/api/grave-digs?limit=${limit}${cursor}`)
    rows.push(...(data as readonly Record<string, unknown>[]))
    const { page } = meta as { readonly page: { readonly nextCursor: string | null } }
    if (page.nextCursor === null) return rows
    cursor = `&cursor=${page.nextCursor}`
  }
}

both('each row of a log has an id of its own, in lists and cursors too', ({ engine }) =>
  withModule(SPLIT, (path) =>
    inTokenWorld(
      engine,
      {
        chain: baseWith([dig(1n, 10n), dig(3n, 20n)], [dig(0n, 5n), dig(2n, 0n)]),
        file: digsBy(path),
      },
      async (world) => {
        await world.catchUp()
        assert.deepEqual(world.failures(), [])
        const rows = await listAll(world, 1)
        const [newest] = rows
        assert.deepEqual(
          rows.map(({ amountRaw }) => amountRaw),
          ['1', '22', '21', '20', '10'],
          'rows of amount 0 are left out, and keep their numbers',
        )
        assert.deepEqual(
          rows.map(({ id }) => String(id).split(':').slice(2)),
          [['1', '1'], ['1', '2'], ['1', '1'], ['1'], ['0']],
        )
        assert.equal(newest?.graveId, '2-1 3 none')
        assert.deepEqual(await listAll(world, 100), rows)
        const { data } = await world.read('/api/grave-digs/leaderboard')
        const [first] = data as readonly Record<string, unknown>[]
        assert.deepEqual([first?.totalClaimedRaw, first?.digCount], ['74', 5])
      },
    ),
  ),
)

both('history and head make the same rows, with the logs of the transaction', ({ engine }) =>
  withModule(SPLIT, async (path) => {
    const beside = {
      with: [
        {
          address: grave,
          event: 'event Transfer(address indexed from, address indexed to, uint256 value)',
        },
      ],
    }
    const transactions = Array.from({ length: 12 }, (_, index) => [
      logOf.mint(grave, operator, 9n),
      dig(BigInt(index % 4), BigInt(index + 1)),
      logOf.transfer(grave, operator, holder, BigInt(index)),
    ])
    const start = baseWith()
    await inTokenWorld(engine, { chain: start, file: digsBy(path, beside) }, async (world) => {
      await world.catchUp()
      for (const [index, logs] of transactions.entries()) {
        world.node.chain = world.node.chain.add(inOne(logs, index))
        await world.catchUp()
      }
      world.node.chain = world.node.chain.addEmpty(120)
      await world.catchUp()
      assert.deepEqual(world.failures(), [])
      const [row] = await listAll(world, 1)
      assert.match(String(row?.graveId), /^3-2 [0-9]+ 2$/)
      await onSqlite(registerMigrations, async ({ engine: fresh }) => {
        await buildAnew({ lived: engine, fresh, ecosystem: world.ecosystem })
        assert.equal(await differenceOf(engine, fresh), undefined)
      })
    })
  }),
)

const HOSTILE = {
  throws: ['throw new Error("no")', /^digs.ts: Error: no$/],
  'returns a negative amount': [
    'return [{ digger: event.args.digger, amount: -1n }]',
    /amount is -1n; it must be/,
  ],
  'returns more than a uint256': [
    'return [{ digger: event.args.digger, amount: 2n ** 256n }]',
    /amount is 1157920892.*; it must be/,
  ],
  'returns too many rows': [
    'return Array.from({ length: 5000 }, () => ({ digger: event.args.digger, amount: 1n }))',
    /at most 4096/,
  ],
} as const

for (const [what, [body, reason]] of Object.entries(HOSTILE))
  test(`a function that ${what} is an anomaly of its log, and harms no other mapping`, () =>
    onSqlite(registerMigrations, ({ engine }) =>
      withModule(`export function rows(event) {\n  ${body}\n}\n`, (path) => {
        const chain = oldBaseWith(
          [logOf.mint(grave, operator, 9n)],
          [dig(1n, 5n), logOf.burn(grave, operator, 2n)],
        )
        return inTokenWorld(engine, { chain, file: digsBy(path) }, async (world) => {
          await world.catchUp()
          assert.deepEqual(world.failures(), [])
          assert.deepEqual(await listAll(world, 10), [])
          const { parts } = await world.readiness()
          const [told = '', why = ''] = (parts['logs of graveDigs[0] on base'] ?? '').split('3: ')
          assert.equal(told, '1 logs could not be decoded, the last in block ')
          assert.match(why, reason)
          const { data } = await world.read('/api/burns/recent')
          const burns = data as readonly Record<string, unknown>[]
          assert.deepEqual(
            burns.map(({ amountRaw }) => amountRaw),
            ['2'],
          )
        })
      }),
    ))

test('an edited module names another register, a moved one does not', () =>
  withModule('export const rows = () => []\n', (before) =>
    withModule('export const rows = ({ args }) => [args]\n', (edited) =>
      withModule('export const rows = () => []\n', async (moved) => {
        const [old, other, same] = [before, edited, moved].map((path) =>
          registerName(localEcosystemAt({}, digsBy(path))),
        )
        assert.notEqual(old, other)
        assert.equal(old, same)
      }),
    ),
  ))
