import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { burn, claimDividend, mine, reorg } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { readHead } from '#devnet/chain-client.ts'
import { units } from '#devnet/units.ts'
import { localEcosystemAt, registerMigrations, startIndexer } from '#test/indexed-ecosystem.ts'
import { isLongVersion } from '#test/long-version.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { FULL_HISTORY_DAYS, startOwnDevnet } from '#test/start-own-devnet.ts'
import { compareFigures } from './compare-figures.ts'
import { recompute } from './recompute.ts'

const folder = await mkdtemp(join(tmpdir(), 'sexton-recompute-'))
const devnet = await startOwnDevnet({ historyDays: isLongVersion ? 120 : FULL_HISTORY_DAYS })
const clients = [devnet.chains.base.client, devnet.chains.ethereum.client]
const ecosystem = localEcosystemAt({
  base: devnet.chains.base.rpcUrl,
  ethereum: devnet.chains.ethereum.rpcUrl,
})
const register = openSqlite({ file: join(folder, 'register.sqlite'), durability: 'normal' })
await register.migrate(registerMigrations)
const indexer = startIndexer({ ecosystem, register })
const routes = dataRoutesOf({ register, ecosystem })
after(async () => {
  await indexer.stop()
  await register.close()
  await devnet.stop()
  await rm(folder, { recursive: true })
})

/** Recomputes at the present heads and compares every figure. */
async function compareNow(): Promise<void> {
  await indexer.caughtUp()
  const heads = await Promise.all(clients.map(readHead))
  const chains = clients.map(({ name, chainId, rpcUrl }, index) => ({
    name,
    id: chainId,
    rpcUrl,
    blockNumber: heads[index]?.number ?? 0,
  }))
  const asOfUnix = Math.max(...heads.map((head) => head.timestampUnix))
  await compareFigures((path) => readRoute(routes, path), await recompute(chains, asOfUnix))
}

test('every figure equals what the chains themselves give', () => compareNow())

test('every figure is right again after both chains dropped a burn and a claim', async () => {
  for (const chain of clients) {
    await mine(chain, { blocks: 1 })
    await burn(chain, { token: 'grave', from: accounts.operator, amount: units(12_345) })
    await claimDividend(chain, { token: 'usdc', account: accounts.holder, amount: 7_000_001n })
    await mine(chain, { blocks: 3 })
  }
  await compareNow()
  for (const chain of clients) await reorg(chain, { depth: 5 })
  await compareNow()
})
