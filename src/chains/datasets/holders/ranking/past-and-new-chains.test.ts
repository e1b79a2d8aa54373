import assert from 'node:assert/strict'
import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Address } from '#domain/address.ts'
import { toStored } from '#lib/stored-integer.ts'
import { startOfDay } from '#lib/time.ts'
import { sql } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { indexAll, startingLater, withoutEthereum } from '#test/changed-file-harness.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../../datasets.ts'
import { RANKED_MAX, rankOf } from './queries.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const { grave } = addresses.base
const wallet: Address = `0x${'ab'.repeat(20)}`
const other: Address = `0x${'cd'.repeat(20)}`

onEach('a rank beyond those that are counted is unknown at a recent block too', ({ engine }) =>
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
    // They held less at the block than they do now.
    const moved = new Map(
      Array.from({ length: 100 }, (_, n) => [addressOf(n), { change: 8n, last: new Map() }]),
    )
    const own = { address: other, balance: 5n }
    const scope = { token: 'GRAVE', chainIds: [1] }
    assert.equal(await rankOf(connection, scope, { own, moved, leftOut: [] }), null)
  }),
)

interface Rows {
  readonly data: readonly {
    readonly address: string
    readonly balanceRaw: string
    readonly firstSeenUnix: number | null
  }[]
}

onEach(
  'since when a wallet holds at a block does not depend on later blocks',
  async ({ engine }) => {
    const midnight = startOfDay(1_700_000_000) + 86_400
    const chain = beginChain(8453, midnight - 7_200)
      .add({ logs: [logOf.mint(grave, wallet, 5n), logOf.mint(grave, other, 4n)] })
      .add({ logs: [logOf.transfer(grave, wallet, other, 5n)] })
      .add({ secondsApart: 7_200, logs: [logOf.transfer(grave, other, wallet, 9n)] })
    const node = await serveChain(chain, { finalDepth: 3, safeDepth: 3 })
    try {
      const ecosystem = localEcosystemAt({ base: node.url }, withoutEthereum)
      await indexAll(engine, ecosystem)
      const clock = () => (midnight + 10) * 1_000
      const routes = dataRoutesOf({ register: engine, ecosystem, clock })
      const { data } = (await readRoute(routes, '/api/holders?asOfBlock=base:1')) as Rows
      assert.deepEqual(
        data.map((each) => each.firstSeenUnix),
        [midnight - 86_400, midnight - 86_400],
      )
    } finally {
      await node.stop()
    }
  },
)

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

onEach(
  'holders of final blocks wait for the first final block of each chain',
  async ({ engine }) => {
    const logs = [logOf.mint(grave, wallet, 5n)]
    const [base, ethereum] = await Promise.all([
      serveChain(beginChain(8453, 1_700_000_000).add({ logs }).addEmpty(5), { finalDepth: 2 }),
      serveChain(beginChain(1, 1_700_000_000).addEmpty(5), { finalDepth: 5 }),
    ])
    try {
      const ecosystem = startingLater(localEcosystemAt({ base: base.url, ethereum: ethereum.url }))
      await indexAll(engine, ecosystem)
      const clock = () => 1_700_000_010_000
      const routes = dataRoutesOf({ register: engine, ecosystem, clock })
      const refused = await refusalOf(routes, '/api/holders?finality=finalized')
      assert.equal(refused.message, 'ethereum had no block yet.')
      const { data } = (await readRoute(
        routes,
        '/api/holders?finality=finalized&chain=base',
      )) as Rows
      assert.equal(data.length, 1)
    } finally {
      await Promise.all([base.stop(), ethereum.stop()])
    }
  },
)
