import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import type { PrivateKeyAccount } from 'viem/accounts'
import { transfer } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { eitherEngine } from '../long-version.ts'
import { eventually } from '../world.ts'
import { deployWallet, undeployedWallet, type WalletSigner } from './contract-wallet.ts'
import { newVisitor, OFFER, type Seen, signAt, signPayment, toHeader } from './raw-payment.ts'
import { sharedWorld } from './shared-world.ts'
import {
  fundWallet,
  mintOpened,
  newPayer,
  passBlocks,
  payingAxios,
  payingFetch,
  untilSealed,
  type X402World,
} from './x402-world.ts'

type Pay = (
  account: PrivateKeyAccount,
  url: string,
  headers: Readonly<Record<string, string>>,
) => Promise<Response>

/** Each with an address and a wallet of its own, so that the first free call is theirs. */
const CLIENTS: readonly {
  readonly name: string
  readonly address: string
  readonly wallet: 'holder' | 'premium'
  readonly pay: Pay
}[] = [
  {
    name: '@x402/fetch',
    address: '198.51.100.1',
    wallet: 'holder',
    pay: (account, url, headers) => payingFetch(account)(url, { headers }),
  },
  { name: '@x402/axios', address: '198.51.100.2', wallet: 'premium', pay: payingAxios },
]

for (const engine of eitherEngine)
  describe(engine, () => {
    let world: X402World
    before(() => {
      world = sharedWorld(engine)
    })

    for (const { name, address, wallet, pay } of CLIENTS) {
      test(`${engine}: ${name} without a key pays a 402 and has its answer and its balance`, async () => {
        const { api, base, origin } = world
        const from = { 'X-Forwarded-For': address }
        assert.equal((await api.get('/api/stats', from)).status, 200)
        const refused = await api.get('/api/burns?period=7d', from)
        assert.equal(refused.status, 402)
        assertOffer(refused.headers, `http://localhost:${new URL(origin).port}/api/burns?period=7d`)
        const payer = await newPayer(base, 5_000_000n)
        const answer = await pay(payer, `${origin}/api/burns?period=7d`, from)
        assert.equal(answer.status, 200, await answer.clone().text())
        assert.equal(answer.headers.get('x-ratelimit-source'), 'prepaid')
        await assertReceipt(world, answer, payer.address)
        const usage = await api.get('/api/usage', from)
        assert.equal(usage.body.prepaidBalanceUsd, 0.0999)
        assert.equal(usage.body.overageCount, 1)
        assert.equal(usage.body.requestCount, 2)
      })

      test(`${engine}: ${name} with a key raises the balance of that key`, async () => {
        const { api, base, origin, devnet } = world
        const { authorization } = await mintOpened(world, devnet.wallets[wallet])
        assert.equal((await api.get('/api/stats', authorization)).status, 200)
        const payer = await newPayer(base, 5_000_000n)
        const answer = await pay(payer, `${origin}/api/stats`, authorization)
        assert.equal(answer.status, 200, await answer.clone().text())
        await assertReceipt(world, answer, payer.address)
        const usage = await api.get('/api/usage', authorization)
        assert.equal(usage.body.prepaidBalanceUsd, 0.0999)
        assert.equal(usage.body.overageCount, 1)
      })
    }

    test(`${engine}: a wallet that is a contract pays by the stock client, and is refused where it is not deployed`, async () => {
      const { base, origin } = world
      const owner = await newPayer(base, 0n)
      const wallet = await deployWallet(world, owner)
      await fundWallet(base, { to: wallet.address, amount: 5_000_000n })
      const visitor = await newVisitor(world)
      const headers = visitor.from
      const paid = await payingFetch(wallet)(`${origin}/api/stats`, { headers })
      assert.equal(paid.status, 200, await paid.clone().text())
      await assertReceipt(world, paid, wallet.address)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999)
      // 65 bytes go to the asset as (v, r, s).
      const plain = payingFetch({ ...wallet, signTypedData: owner.signTypedData })
      const again = await newVisitor(world)
      const paidPlainly = await plain(`${origin}/api/stats`, { headers: again.from })
      assert.equal(paidPlainly.status, 200, await paidPlainly.clone().text())
      assert.equal((await again.usage()).prepaidBalanceUsd, 0.0999)
      const other = await newVisitor(world)
      const stranger = await newPayer(base, 0n)
      const forged = { ...wallet, signTypedData: stranger.signTypedData }
      for (const signer of [undeployedWallet(owner), forged]) {
        const { header } = await signPayment(signer as WalletSigner)
        assertRefused(await other.get('/api/stats', header), 'invalid_exact_evm_payload_signature')
      }
    })

    test(`${engine}: a transfer from a wallet that is a contract is credited by its signed proof`, async () => {
      const { api, base, devnet } = world
      const key = await mintOpened(world, devnet.wallets.holder)
      const safe = await deployWallet(world, await newPayer(base, 0n))
      await fundWallet(base, { to: safe.address, amount: 1_000_000n })
      const sent = { token: 'usdc', from: safe.address, to: accounts.payTo } as const
      const txHash = await untilSealed(base, await transfer(base, { ...sent, amount: 500_000n }))
      const claim = { apiKeyPublicId: key.publicId, txHash, payerAddress: safe.address }
      const post = (more: object = {}) =>
        api.post('/api/sessions/prepay', { ...claim, amountUsd: 0.5, ...more })
      assert.equal((await post()).status, 201)
      await passBlocks(base, 12)
      const read = async (message: string) =>
        eventually(async () => {
          const { body } = await api.get(`/api/sessions/prepay/${txHash}`)
          return body.message === message ? body : undefined
        }, 30_000)
      await read('payer_not_linked')
      const query = `action=link-payer&publicId=${key.publicId}&txHash=${txHash}`
      const textFor = async (address: string) =>
        (await api.get(`/api/keys/message?${query}&address=${address}`)).body.message
      const payerMessage = await textFor(safe.address)
      const forged = { payerMessage, payerSignature: `0x01${'11'.repeat(65)}` }
      assert.equal((await post(forged)).body.error, 'invalid_signature')
      const counterfactual = undeployedWallet(await newPayer(base, 0n))
      const text = await textFor(counterfactual.address)
      const refused = await post({
        payerAddress: counterfactual.address,
        payerMessage: text,
        payerSignature: await counterfactual.signMessage(text),
      })
      assert.match(
        refused.body.detail,
        /a contract wallet posts its proof once the transfer is seen/,
      )
      const proven = await post({
        payerMessage,
        payerSignature: await safe.signMessage(payerMessage),
      })
      assert.equal(proven.status, 200, proven.text)
      assert.equal((await read('verified')).creditedUsd, 0.5)
    })

    test(`${engine}: an authorization that begins now pays, however addresses are written, and without extra`, async () => {
      const { extra: _, ...plain } = OFFER
      const lower = { ...plain, asset: plain.asset.toLowerCase(), payTo: plain.payTo.toLowerCase() }
      for (const accepted of [OFFER, plain, lower]) {
        const visitor = await newVisitor(world)
        const payer = await newPayer(world.base, 5_000_000n)
        const header = await signAt(payer, Math.floor(Date.now() / 1_000), accepted)
        const paid = await visitor.get('/api/stats', header)
        assert.equal(paid.status, 200, paid.text)
      }
    })

    test(`${engine}: a Permit2 payment is refused in words`, async () => {
      const visitor = await newVisitor(world)
      const payload = { permit2Authorization: {}, signature: '0x12' }
      const refused = await visitor.get('/api/stats', toHeader({ accepted: OFFER, payload }))
      assertRefused(refused, 'unsupported_payload_type')
    })
  })

function assertRefused(seen: Seen, reason: string): void {
  assert.equal(seen.status, 402, seen.text)
  const receipt = decodePaymentResponseHeader(seen.headers.get('payment-response') ?? '')
  assert.equal(receipt.errorReason, reason)
  assert.ok((receipt.errorMessage ?? '').length > 0)
}

function assertOffer(headers: Headers, url: string): void {
  const offer = decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
  const checked = PaymentRequiredV2Schema.safeParse(offer)
  assert.ok(checked.success, JSON.stringify(checked))
  assert.equal(offer.resource.url, url)
  assert.deepEqual(
    offer.accepts.map((each) => each.amount),
    ['100000', '1000000'],
  )
}

async function assertReceipt(world: X402World, answer: Response, payer: string): Promise<void> {
  const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
  assert.equal(receipt.success, true)
  assert.equal(receipt.network, 'eip155:8453')
  assert.equal(receipt.payer, payer.toLowerCase())
  const sealed = await world.base.rpc.send({
    method: 'eth_getTransactionReceipt',
    params: [receipt.transaction],
  })
  assert.ok(typeof sealed === 'object' && sealed !== null && 'status' in sealed)
  assert.equal(sealed.status, '0x1')
}
