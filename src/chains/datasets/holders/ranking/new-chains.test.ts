import assert from 'node:assert/strict'
import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Address } from '#domain/address.ts'
import { sql, toStored } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { indexAll, withoutEthereum } from '#test/changed-file-harness.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../../datasets.ts'
import { RANKED_MAX, rankOf } from './queries.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const { grave } = addresses.base
const wallet: Address = `0x${'ab'.repeat(20)}`
const other: Address = `0x${'cd'.repeat(20)}`

onEach('a rank beyond those that are counted is unknown', ({ engine }) =>
  engine.write(async (connection) => {
    const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`
    const rows = Array.from({ length: RANKED_MAX + 500 }, (_, n) => [
      'GRAVE',
      addressOf(n),
      toStored(9n),
    ])
    await connection.insert(
      {
        table: 'balances',
        columns: { token: 'text', address: 'text', balance: 'text' },
        constants: { chain_id: 1, since_unix: 0, last_unix: 0 },
      },
      rows,
    )
    const own = { address: other, balance: 5n }
    const scope = { token: 'GRAVE', chainIds: [1] }
    assert.equal(await rankOf(connection, scope, { own, leftOut: [] }), null)
  }),
)

interface Rows {
  readonly data: readonly {
    readonly address: string
    readonly balanceRaw: string
  }[]
}

onEach(
  'a chain that is new in the file and empty takes no holder off the list',
  async ({ engine }) => {
    const base = await serveChain(
      beginChain(8453, 1_700_000_000).add({ logs: [logOf.mint(grave, wallet, 5n)] }),
    )
    const ethereum = await serveChain(beginChain(1, 1_700_000_000).addEmpty(2))
    try {
      const at = (edit: (file: EcosystemFile) => EcosystemFile) =>
        localEcosystemAt({ base: base.url, ethereum: ethereum.url }, edit)
      await indexAll(engine, at(withoutEthereum))
      const ecosystem = at((file) => file)
      await indexAll(engine, ecosystem)
      const clock = () => 1_700_000_010_000
      const routes = dataRoutesOf({ register: engine, ecosystem, clock })
      const { data } = (await readRoute(routes, '/api/holders')) as Rows
      assert.equal(data.length, 1)
      const totals = await engine.read(sql`select balance from holder_totals`)
      assert.deepEqual(totals, [{ balance: toStored(5n) }])
    } finally {
      await Promise.all([base.stop(), ethereum.stop()])
    }
  },
)

onEach(
  'an empty chain that leaves the file and returns takes no transfer of the time between from the list',
  async ({ engine }) => {
    const chain = beginChain(8453, 1_700_000_000).add({ logs: [logOf.mint(grave, wallet, 5n)] })
    const base = await serveChain(chain)
    const ethereum = await serveChain(beginChain(1, 1_700_000_000).addEmpty(2))
    try {
      const at = (edit: (file: EcosystemFile) => EcosystemFile) =>
        localEcosystemAt({ base: base.url, ethereum: ethereum.url }, edit)
      const ecosystem = at((file) => file)
      await indexAll(engine, ecosystem)
      await indexAll(engine, at(withoutEthereum))
      base.chain = chain.add({ logs: [logOf.transfer(grave, wallet, other, 3n)] })
      await indexAll(engine, at(withoutEthereum))
      await indexAll(engine, ecosystem)
      const clock = () => 1_700_000_010_000
      const routes = dataRoutesOf({ register: engine, ecosystem, clock })
      const { data } = (await readRoute(routes, '/api/holders')) as Rows
      assert.deepEqual(
        data.map(({ address, balanceRaw }) => [address.toLowerCase(), balanceRaw]),
        [
          [other, '3'],
          [wallet, '2'],
        ],
      )
    } finally {
      await Promise.all([base.stop(), ethereum.stop()])
    }
  },
)
