import { after, before, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { accounts, addresses, chainIds } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { beginChain } from './chain-builder/built-chain.ts'
import { logOf } from './chain-builder/log-plans.ts'
import { onSqlite } from './store/each-engine.ts'
import { GENESIS_UNIX, inTokenWorld } from './token-world.ts'
import { assertDrawn, startTracing, stopTracing, walk } from './traced-walk.ts'

/** Raise these only with a reason. */
const FILES_MAX = { row: 30, answer: 18 }

before(startTracing)
after(stopTracing)

test('a burn log enters few files on its way to its row and to the answer, all of them drawn in docs/architecture.md', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const burn = () => ({ logs: [logOf.burn(addresses.base.grave, accounts.holder, 1n)] })
    const mint = { logs: [logOf.mint(addresses.base.grave, accounts.holder, 1_000n)] }
    const chain = beginChain(chainIds.base, GENESIS_UNIX, { isProvable: true }).add(mint)
    await inTokenWorld(engine, { chain, file: proven }, async ({ node, catchUp, read }) => {
      const mine = async () => {
        node.chain = node.chain.add(burn())
        await catchUp()
      }
      const list = async () => void (await read('/api/burns/recent?limit=1'))
      const [toRow, toAnswer] = [await walk(mine), await walk(list, { before: mine })]
      await assertDrawn(toRow, FILES_MAX.row)
      await assertDrawn(toAnswer, FILES_MAX.answer)
    })
  }))

/** As operators run it: receipts prove the logs of every block. */
function proven(file: LocalFile): EcosystemFile {
  return { ...file, chains: file.chains.map((chain) => ({ ...chain, proofs: 'every' })) }
}
