import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerMigrations } from '#data/datasets.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { sql, toStored } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { beginChain } from '../chain-builder/built-chain.ts'
import { logOf } from '../chain-builder/log-plans.ts'
import { serveChain } from '../chain-builder/serve-chain.ts'
import { localEcosystemAt, startIndexer } from '../indexed-ecosystem.ts'
import { HARNESS_ECOSYSTEM } from './callers-harness.ts'

const START_UNIX = Date.UTC(2026, 10, 21, 12) / 1_000

/** Base units on base; as many more on ethereum. Premium is a thousandth of all. */
const SUPPLY = 1_000_000n

export interface HoldersRegister {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  /** The same with a gate: tokens worth 100 USD on base, at one dollar each. */
  readonly gated: Ecosystem
  /** Whether its index can tell who holds what. */
  index: 'live' | 'behind' | 'broken'
  /** How often it was asked. */
  asked: number
  /** Gives base units of the token on a chain. */
  give(wallet: string, chain: 'base' | 'ethereum', amount: bigint): Promise<void>
  close(): Promise<void>
}

/** A register of two chains, whose newest blocks count as live whatever the clock says. */
export async function openHoldersRegister(): Promise<HoldersRegister> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const open = async (name: string) => {
    const engine = openSqlite({ file: join(folder, name), durability: 'normal' })
    await engine.migrate(registerMigrations)
    return engine
  }
  const engine = await open('register.sqlite')
  const empty = await open('empty.sqlite')
  const nodes = await Promise.all(
    (['base', 'ethereum'] as const).map((name) => {
      const logs = [logOf.mint(addresses[name].crypt, addresses[name].grave, SUPPLY)]
      const id = name === 'base' ? 8453 : 1
      return serveChain(beginChain(id, START_UNIX).add({ logs }).addEmpty(2))
    }),
  )
  const [base = '', ethereum = ''] = nodes.map(({ url }) => url)
  const ecosystem = localEcosystemAt({ base, ethereum }, ({ service, chains, tokens }) => ({
    service,
    chains: chains.map((chain) => ({ ...chain, staleAfterSeconds: 86_400 })),
    tokens: tokens
      .filter(({ symbol }) => symbol === 'GRAVE' || symbol === 'CRYPT')
      .map((token) => ({ ...token, price: { kind: 'fixed', usd: '1' } })),
    premium: { supplyPerMille: 1, depthBlocks: 1 },
    gate: { chain: 'base', minimumUsd: '100', depthBlocks: 1, averagePriceMinutes: 30 },
  }))
  const indexer = startIndexer({ ecosystem, register: engine, clock: () => START_UNIX * 1_000 })
  await indexer.caughtUp()
  await indexer.stop()
  for (const node of nodes) await node.stop()
  const { quotas } = HARNESS_ECOSYSTEM
  const holders: HoldersRegister = {
    register: {
      ...engine,
      snapshot(work) {
        holders.asked += 1
        if (holders.index === 'broken') return Promise.reject(new StoreError('cannot be read'))
        return (holders.index === 'live' ? engine : empty).snapshot(work)
      },
    },
    gated: { ...ecosystem, quotas },
    ecosystem: { ...ecosystem, quotas, gate: 'open' },
    index: 'live',
    asked: 0,
    async give(wallet, chain, amount) {
      await engine.write((tx) =>
        tx.run(sql`
          insert into balances (token, address, chain_id, balance, last_unix)
          values ('CRYPT', ${wallet.toLowerCase()}, ${chain === 'base' ? 8453 : 1},
            ${toStored(amount)}, 0)
          on conflict (token, address, chain_id) do update set balance = excluded.balance`),
      )
    },
    async close() {
      await engine.close()
      await empty.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return holders
}
