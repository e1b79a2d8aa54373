import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { registerName } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { burn, claimDividend, mine, payUsdc, transfer } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { type ChainClient, readHead } from '#devnet/chain-client.ts'
import { units } from '#devnet/units.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { readIndexStatus } from '#index/status.ts'
import { openStore } from '#main/stores.ts'
import { type AlternatingProxy, startAlternatingProxy } from './alternating-proxy.ts'
import { auditService } from './audit-service.ts'
import { isLongVersion } from './long-version.ts'
import { startTwin, type TwinChain } from './twin-chain.ts'
import { eventually, startWorld, type World } from './world.ts'

/** Two real nodes that shared a history and went apart. */

/** How long the index is left to two nodes at once. */
const TURNS_MS = 1_500

/** What happens on a branch differs from what happens on the other. */
async function live(chain: ChainClient, input: { readonly blocks: number; readonly size: bigint }) {
  const { operator, holder, poor, payTo } = accounts
  for (let block = 0; block < input.blocks; block += 1) {
    const amount = units(1) * (input.size + BigInt(block))
    const usdc = 1_000n * (input.size + BigInt(block))
    await transfer(chain, { token: 'grave', to: poor, amount })
    if (block % 2 === 0) await burn(chain, { token: 'crypt', from: operator, amount })
    if (block % 3 === 0) await payUsdc(chain, { from: operator, to: payTo, amount: usdc })
    if (block % 4 === 0)
      await claimDividend(chain, { token: 'usdc', account: holder, amount: usdc })
    await mine(chain, { blocks: 1 })
  }
}

describe('two nodes on different forks behind one address', {
  skip: !isLongVersion && 'they compete in npm run test:long',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-forks-'))
  let proxy: AlternatingProxy
  let world: World
  let twin: TwinChain
  let register: Engine
  before(async () => {
    proxy = await startAlternatingProxy()
    world = await startWorld({
      change(file) {
        const chains = file.chains.map((chain) => {
          if (chain.name !== 'base') return chain
          proxy.targets = chain.rpcUrls
          return { ...chain, rpcUrls: [proxy.url], pollIntervalMs: 100 }
        })
        return { ...file, chains }
      },
    })
    twin = await startTwin(world.devnet.chains.base.client, join(folder, 'twin'))
    register = await openStore(
      world.config.dataFolder,
      registerName(parseEcosystem('local', world.file)),
      world.config.database,
    )
  })
  after(async () => {
    await register.close()
    await world.stop()
    await twin.stop()
    await proxy.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Both nodes answer by turns while both branches grow; then one of them wins. */
  async function compete(winner: ChainClient, loser: ChainClient): Promise<void> {
    proxy.targets = [loser.rpcUrl, winner.rpcUrl]
    for (let round = 0; round < 2; round += 1) {
      await live(loser, { blocks: 4, size: 7n })
      await live(winner, { blocks: 5, size: 5n })
      await sleep(TURNS_MS)
      const { status } = await world.api.get('/api/stats')
      assert.equal(status, 200)
    }
    proxy.targets = [winner.rpcUrl]
    await untilAt(world, register, winner)
    assert.deepEqual(await auditService(world), [])
  }

  test('do no damage, and the index settles on the branch that wins', async () => {
    await compete(twin.client, world.devnet.chains.base.client)
  })

  test('do no damage when the branch that was left wins in the end', async () => {
    const { client } = world.devnet.chains.base
    await live(client, { blocks: 4, size: 3n })
    await compete(client, twin.client)
  })
})

/** The chain stands still meanwhile. */
async function untilAt(world: World, register: Engine, chain: ChainClient): Promise<void> {
  const { chains } = parseEcosystem('local', world.file)
  const head = await readHead(chain)
  await eventually(async () => {
    const status = await register.snapshot((reads) => readIndexStatus(reads, chains))
    const own = status?.chains.find((each) => each.chain.id === chain.chainId)
    return own?.blockHash === head.hash || undefined
  }, 30_000)
}
