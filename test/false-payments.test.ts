import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { claimDividend, mine, payUsdc, transfer } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { type ChainClient, sendTransaction } from '#devnet/chain-client.ts'
import { eitherEngine } from './long-version.ts'
import { startPostgres } from './postgres.ts'
import { eventually, type MintedKey, mintKey, startWorld, type World } from './world.ts'

/** Transactions on the real chains that look like payments and are none, or are another's. */
const postgres = await startPostgres()
after(() => postgres.stop())

const ONE_USDC = 1_000_000n

interface FalsePayment {
  readonly name: string
  /** Gives the transaction that the owner of the key claims. */
  pay(chains: { readonly base: ChainClient; readonly ethereum: ChainClient }): Promise<string>
}

const FALSE_PAYMENTS: readonly FalsePayment[] = [
  {
    name: 'A1: a transfer of another wallet credits nothing to whoever posts its hash',
    pay: ({ base }) =>
      payUsdc(base, { from: accounts.operator, to: accounts.payTo, amount: ONE_USDC }),
  },
  {
    name: 'A4: a transfer of another token to the same wallet credits nothing',
    pay: ({ base }) =>
      transfer(base, {
        token: 'crypt',
        from: accounts.holder,
        to: accounts.payTo,
        amount: ONE_USDC,
      }),
  },
  {
    name: 'A5: a transfer of the asset to another wallet credits nothing',
    pay: ({ base }) =>
      payUsdc(base, { from: accounts.holder, to: accounts.treasury, amount: ONE_USDC }),
  },
  {
    name: 'A6: a transfer of the same asset on another chain credits nothing',
    pay: ({ ethereum }) =>
      transfer(ethereum, { token: 'usdc', to: accounts.payTo, amount: ONE_USDC }),
  },
  {
    name: 'A7: a transfer out of a contract that the owner called is not the payment of the owner',
    pay: ({ base }) =>
      claimDividend(base, { token: 'usdc', account: accounts.payTo, amount: ONE_USDC }),
  },
  {
    name: 'A8: ether credits nothing',
    pay: ({ base }) =>
      sendTransaction(base, {
        from: accounts.holder,
        to: accounts.payTo,
        data: '0x',
        value: 10n ** 15n,
      }),
  },
  {
    name: 'A9: a transaction that failed credits nothing',
    pay: ({ base }) =>
      sendTransaction(
        base,
        calls.transfer({
          token: base.addresses.usdc,
          from: accounts.poor,
          to: accounts.payTo,
          amount: ONE_USDC,
        }),
      ),
  },
  {
    name: 'A12: a transfer of nothing in the name of the owner credits nothing',
    pay: ({ base }) => payUsdc(base, { from: accounts.holder, to: accounts.payTo, amount: 0n }),
  },
  {
    name: 'A15: a hash that no chain knows credits nothing',
    pay: async () => `0x${'ab'.repeat(32)}`,
  },
]

for (const engine of eitherEngine)
  describe(engine, () => {
    let world: World
    let key: MintedKey
    const hashes = new Map<string, string>()
    before(async () => {
      world = await startWorld({
        ...(engine === 'PostgreSQL' && { databaseUrl: await postgres.createDatabase() }),
      })
      await mineBoth(world)
      const mint = () => mintKey(world.api, world.devnet.wallets.holder).catch(() => undefined)
      key = await eventually(mint, 10_000)
      for (const { name, pay } of FALSE_PAYMENTS) {
        const txHash = await pay(clientsOf(world))
        await claim(world, { publicId: key.publicId, txHash, payer: accounts.holder })
        hashes.set(name, txHash)
      }
      await mineBoth(world)
    })
    after(() => world.stop())

    test(`${engine}: a real payment is credited, and none of the false ones claimed with it`, async () => {
      await creditRealPayment(world, key)
      assert.equal(await balanceOf(world, key), 1)
    })

    for (const { name } of FALSE_PAYMENTS)
      test(`${engine}: ${name}`, async () => {
        const { body } = await world.api.get(`/api/sessions/prepay/${hashes.get(name)}`)
        assert.equal(body.verified, false)
        assert.equal(body.creditedUsd, null)
      })

    test(`${engine}: A2: a stranger's earlier claim does not stand in the owner's way`, async () => {
      const { base } = clientsOf(world)
      const mint = () => mintKey(world.api, world.devnet.wallets.premium).catch(() => undefined)
      const stranger = await eventually(mint, 10_000)
      const pay = { from: accounts.holder, to: accounts.payTo, amount: ONE_USDC }
      const txHash = await payUsdc(base, pay)
      const payer = accounts.holder
      await claim(world, { publicId: stranger.publicId, txHash, payer })
      await mineBoth(world)
      const before = await balanceOf(world, key)
      await claim(world, { publicId: key.publicId, txHash, payer })
      await eventually(
        async () => ((await balanceOf(world, key)) === before + 1 ? true : undefined),
        30_000,
      )
      assert.equal(await balanceOf(world, stranger), 0)
    })
  })

function clientsOf({ devnet }: World) {
  return { base: devnet.chains.base.client, ethereum: devnet.chains.ethereum.client }
}

async function mineBoth(world: World): Promise<void> {
  const { base, ethereum } = clientsOf(world)
  await mine(base, { blocks: 4 })
  await mine(ethereum, { blocks: 4 })
}

async function claim(
  { api }: World,
  input: { readonly publicId: string; readonly txHash: string; readonly payer: string },
): Promise<void> {
  const posted = await api.post('/api/sessions/prepay', {
    apiKeyPublicId: input.publicId,
    txHash: input.txHash,
    payerAddress: input.payer,
    amountUsd: 1,
  })
  assert.equal(posted.status, 201, posted.text)
}

async function balanceOf({ api }: World, key: MintedKey): Promise<number> {
  return (await api.get('/api/usage', key.authorization)).body.prepaidBalanceUsd
}

/** Once a real payment is credited, the verifier has looked at all that came before it. */
async function creditRealPayment(world: World, key: MintedKey): Promise<void> {
  const { base } = clientsOf(world)
  const before = await balanceOf(world, key)
  const pay = { from: accounts.holder, to: accounts.payTo, amount: ONE_USDC }
  const txHash = await payUsdc(base, pay)
  await claim(world, { publicId: key.publicId, txHash, payer: accounts.holder })
  await mineBoth(world)
  await eventually(
    async () => ((await balanceOf(world, key)) !== before ? true : undefined),
    30_000,
  )
  assert.equal(await balanceOf(world, key), before + 1)
}
