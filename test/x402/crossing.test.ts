import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { Hex } from 'viem'
import { reorg, setAutomine, transfer } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { auditAccountsOf } from '../audit-service.ts'
import { eitherEngine } from '../long-version.ts'
import { eventually, type MintedKey } from '../world.ts'
import {
  cancelCall,
  newVisitor,
  type Seen,
  signPayment,
  untilBalance,
  untilSent,
} from './raw-payment.ts'
import { mintOpened, newPayer, passBlocks, proxiedWorlds, type X402World } from './x402-world.ts'

const FUNDS = 5_000_000n
const PATH = '/api/burns/total'

const startProxied = await proxiedWorlds()

/** 0.10 USD buys two calls and leaves 0.02. */
for (const engine of eitherEngine)
  describe(`payments that cross other events, on ${engine}`, () => {
    let world: X402World
    before(async () => {
      const change = (file: EcosystemFile) => ({ ...file, pricePerCallUsd: '0.04' })
      world = await startProxied(engine, { change })
    })
    after(() => world.stop())
    afterEach(() => setAutomine(world.base, true))

    test('a key that is rotated while its payment is on the way: the call is served, the rest is on the new key', async () => {
      const { api, base, devnet } = world
      const key = await mintOpened(world, devnet.wallets.holder)
      assert.equal((await api.get('/api/stats', key.authorization)).status, 200)
      const { header } = await signPayment(await newPayer(base, FUNDS))
      await setAutomine(base, false)
      const paying = payWith(key, header)
      await untilSent(world, 1)
      const path = `/api/keys/${key.publicId}/rotate`
      const rotated = await api.call(path, { method: 'POST', headers: key.authorization })
      assert.equal(rotated.status, 201, rotated.text)
      await setAutomine(base, true)
      await passBlocks(base, 1)
      const paid = await paying
      assert.equal(paid.status, 200, paid.text)
      assert.equal(receiptOf(paid).success, true)
      const newer = { Authorization: `Bearer ${rotated.body.secret}` }
      const usage = await api.get('/api/usage', newer)
      assert.equal(usage.body.prepaidBalanceUsd, 0.06)
      assert.equal((await api.get(PATH, key.authorization)).status, 401)
      const again = await api.get(PATH, { ...newer, 'PAYMENT-SIGNATURE': header })
      assert.equal(again.status, 409)
    })

    test('a payment repays first what its payer owes after a reorg; what is left is the balance', async () => {
      const { base, now } = world
      const visitor = await newVisitor(world)
      const payer = await newPayer(base, FUNDS)
      await passBlocks(base, 3)
      const { signed, header } = await signPayment(payer)
      assert.equal((await visitor.get(PATH, header)).status, 200)
      assert.equal((await visitor.get('/api/stats')).status, 200)
      const withdrawal = await cancelCall(world, payer, signed)
      await setAutomine(base, false)
      await reorg(base, { depth: 2 })
      // Sealed before the payment, which is sent again.
      const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x3b9aca00' }
      await base.rpc.send({ method: 'eth_sendTransaction', params: [{ ...withdrawal, ...fees }] })
      await passBlocks(base, 1)
      await setAutomine(base, true)
      await untilBalance(visitor, 0)
      await eventually(async () => {
        const { status } = await visitor.get(PATH)
        return status === 503 ? 'it is open again' : undefined
      }, 20_000)
      // For two seconds the settling wallet does not take its transaction for dropped.
      now.ms += 3_000
      const next = await signPayment(payer)
      const waiting = await visitor.get(PATH, next.header)
      assert.equal(waiting.status, 503, 'the one before is not over for good')
      await passBlocks(base, 3)
      const paid = await eventually(async () => {
        const seen = await visitor.get(PATH, next.header)
        return seen.status === 503 ? undefined : seen
      }, 20_000)
      assert.equal(paid.status, 402, paid.text)
      assert.equal(receiptOf(paid).success, true)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.02)
      assert.equal((await visitor.get(PATH, next.header)).status, 409)
      assert.equal((await visitor.get(PATH, header)).status, 409)
    })

    test('without ether for gas no offer is shown, and an ordinary transfer still buys balance', async () => {
      const { api, base, devnet } = world
      const key = await mintOpened(world, devnet.wallets.premium)
      assert.equal((await api.get('/api/stats', key.authorization)).status, 200)
      const offered = await api.get(PATH, key.authorization)
      assert.ok(offered.headers.has('payment-required'))
      await setEther(world, '0x0')
      const bare = await eventually(async () => {
        const seen = await api.get(PATH, key.authorization)
        return seen.headers.has('payment-required') ? undefined : seen
      }, 50_000)
      assert.equal(bare.status, 402)
      assert.equal(bare.text, offered.text, 'the contract answers as before')
      const from = devnet.wallets.premium.address
      await transfer(base, { token: 'usdc', to: from, amount: 100_000n })
      const txHash = await transfer(base, {
        token: 'usdc',
        from,
        to: accounts.payTo,
        amount: 100_000n,
      })
      await passBlocks(base, 4)
      const claim = { apiKeyPublicId: key.publicId, txHash, payerAddress: from, amountUsd: 0.1 }
      assert.equal((await api.post('/api/sessions/prepay', claim)).status, 201)
      await eventually(async () => {
        const { body } = await api.get('/api/usage', key.authorization)
        return body.prepaidBalanceUsd === 0.1 ? true : undefined
      }, 50_000)
      assert.equal((await api.get(PATH, key.authorization)).status, 200)
      await setEther(world, '0xde0b6b3a7640000')
    })

    test('the audit finds nothing', async () => {
      await passBlocks(world.base, 3)
      assert.deepEqual(await auditAccountsOf(world), [])
    })

    const payWith = (key: MintedKey, header: string) =>
      world.api.get(PATH, { ...key.authorization, 'PAYMENT-SIGNATURE': header })
  })

function receiptOf(seen: Pick<Seen, 'headers'>) {
  return decodePaymentResponseHeader(seen.headers.get('payment-response') ?? '')
}

async function setEther({ base }: X402World, wei: Hex): Promise<void> {
  await base.rpc.send({ method: 'anvil_setBalance', params: [accounts.relayer, wei] })
}
