import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { eitherEngine } from './long-version.ts'
import { type Lie, type LyingNode, Refused, startLyingNode } from './lying-node.ts'
import { startPostgres } from './postgres.ts'
import { eventually, type MintedKey, mintKey, startWorld, type World } from './world.ts'

/** Payments through a node that lies about its blocks. */
const postgres = await startPostgres()
after(() => postgres.stop())

const ONE_USDC = 1_000_000n
const FORGED_TX = `0x${'f0'.repeat(32)}`

for (const engine of eitherEngine)
  describe(engine, () => {
    let node: LyingNode
    let world: World
    let key: MintedKey
    before(async () => {
      node = await startLyingNode()
      world = await startWorld({
        ...(engine === 'PostgreSQL' && { databaseUrl: await postgres.createDatabase() }),
        change(file) {
          const chains = file.chains.map((chain) => {
            if (chain.name !== 'base') return chain
            node.target = chain.rpcUrls[0] ?? ''
            // With proofs: "every", no log of this node would be stored at all.
            return { ...chain, rpcUrls: [node.url], proofs: 'deposits' as const }
          })
          return { ...file, chains }
        },
      })
      await mine(base(world), { blocks: 4 })
      const mint = () => mintKey(world.api, world.devnet.wallets.holder).catch(() => undefined)
      key = await eventually(mint, 10_000)
    })
    after(async () => {
      await world.stop()
      await node.stop()
    })
    afterEach(() => {
      node.lie = undefined
    })

    test(`${engine}: a forged log in a block that pays us is never credited`, async () => {
      node.lie = forgeTransfers
      const before = await balanceOf(world, key)
      const txHash = await pay(world)
      await claim(world, key, FORGED_TX)
      await claim(world, key, txHash)
      await mine(base(world), { blocks: 4 })
      await untilBalance(world, key, before + 1)
      const { body } = await world.api.get(`/api/sessions/prepay/${FORGED_TX}`)
      assert.equal(body.verified, false)
      assert.equal(body.creditedUsd, null)
    })

    test(`${engine}: a payment that no node proves stays pending with a reason and is credited once proven`, async () => {
      node.lie = withoutReceipts
      const before = await balanceOf(world, key)
      const txHash = await pay(world)
      await claim(world, key, txHash)
      await mine(base(world), { blocks: 4 })
      const waiting = await eventually(async () => {
        const { body } = await world.api.get('/readyz')
        return body.parts['payments base']
      }, 10_000)
      assert.match(waiting, /1 deposits waiting for a proof: .*eth_getTransactionReceipt/)
      const { body } = await world.api.get(`/api/sessions/prepay/${txHash}`)
      assert.equal(body.message, 'pending_verification')
      assert.equal(await balanceOf(world, key), before)
      node.lie = undefined
      await untilBalance(world, key, before + 1)
      // What `/readyz` says may be a second old.
      await eventually(async () => {
        const { body: ready } = await world.api.get('/readyz')
        return ready.parts['payments base'] === undefined ? true : undefined
      }, 10_000)
    })

    test(`${engine}: a payment left out of a block with another payment is found by the proof of the block`, async () => {
      node.lie = withoutLastTransfer
      const before = await balanceOf(world, key)
      for (const txHash of [await pay(world), await pay(world)]) await claim(world, key, txHash)
      await mine(base(world), { blocks: 4 })
      await untilBalance(world, key, before + 2)
    })

    test(`${engine}: a node without receipts of whole blocks proves payments one by one`, async () => {
      node.lie = ({ method }, result) => {
        if (method === 'eth_getBlockReceipts') throw new Refused('the method does not exist')
        return result
      }
      const before = await balanceOf(world, key)
      await claim(world, key, await pay(world))
      await mine(base(world), { blocks: 4 })
      await untilBalance(world, key, before + 1)
    })
  })

/** Adds to each transfer to us a forged one from the same payer, of five times the amount. */
const forgeTransfers: Lie = ({ method }, result) => {
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.flatMap((log: { readonly topics: readonly string[] }) => {
    if (!isToUs(log)) return [log]
    const data = `0x${(5n * ONE_USDC).toString(16).padStart(64, '0')}`
    return [log, { ...log, data, transactionHash: FORGED_TX, logIndex: '0x7' }]
  })
}

/** Leaves out the last of several transfers to us in a block; only the sum shows it. */
const withoutLastTransfer: Lie = ({ method }, result) => {
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  const ours = result.filter(isToUs)
  return ours.length < 2 ? result : result.filter((log) => log !== ours.at(-1))
}

function isToUs({ topics }: { readonly topics: readonly string[] }): boolean {
  return topics[2]?.endsWith(accounts.payTo.slice(2).toLowerCase()) ?? false
}

const withoutReceipts: Lie = ({ method }, result) => {
  if (method.endsWith('Receipts') || method.endsWith('Receipt'))
    throw new Refused(`${method} is not available`)
  return result
}

function base({ devnet }: World) {
  return devnet.chains.base.client
}

function pay(world: World): Promise<string> {
  return payUsdc(base(world), { from: accounts.holder, to: accounts.payTo, amount: ONE_USDC })
}

async function claim({ api }: World, key: MintedKey, txHash: string): Promise<void> {
  const posted = await api.post('/api/sessions/prepay', {
    apiKeyPublicId: key.publicId,
    txHash,
    payerAddress: accounts.holder,
    amountUsd: 1,
  })
  assert.equal(posted.status, 201, posted.text)
}

async function balanceOf({ api }: World, key: MintedKey): Promise<number> {
  return (await api.get('/api/usage', key.authorization)).body.prepaidBalanceUsd
}

async function untilBalance(world: World, key: MintedKey, usd: number): Promise<void> {
  const isThere = async () => ((await balanceOf(world, key)) === usd ? true : undefined)
  await eventually(isThere, 30_000)
}
