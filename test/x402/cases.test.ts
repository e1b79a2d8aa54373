import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { privateKeyToAccount } from 'viem/accounts'
import { reorg, setAutomine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { auditService } from '../audit-service.ts'
import { eitherEngine } from '../long-version.ts'
import { eventually } from '../world.ts'
// Run next: their wallets have free calls that the tests below use up.
import './pay.ts'
import './topup.ts'
import {
  newVisitor,
  OFFER,
  type Seen,
  sendFirst,
  signPayment,
  toHeader,
  untilBalance,
  untilSent,
  untilSettledAgain,
} from './raw-payment.ts'
import { sharedWorld } from './shared-world.ts'
import {
  mintOpened,
  newPayer,
  passBlocks,
  payingFetch,
  readMetrics,
  type X402World,
} from './x402-world.ts'

const FUNDS = 5_000_000n

/** What proxies take of response headers by default (nginx: one page of memory). */
const HEADERS_BYTES_MAX = 4_096

const PATH = '/api/burns/total'
const WETH = '0x4200000000000000000000000000000000000006'

for (const engine of eitherEngine)
  describe(`a payment with a call, on ${engine}`, () => {
    let world: X402World
    before(() => {
      world = sharedWorld(engine)
    })

    test('the same payment again is 409 on the same path, another one, for another caller and with a key', async () => {
      const key = await mintOpened(world, world.devnet.wallets.premium)
      const visitor = await newVisitor(world)
      const other = await newVisitor(world)
      const { header } = await signPayment(await newPayer(world.base, FUNDS))
      assert.equal((await visitor.get(PATH, header)).status, 200)
      for (const again of [
        await visitor.get(PATH, header),
        await visitor.get('/api/stats', header),
        await other.get(PATH, header),
        await world.api.get(PATH, { ...key.authorization, 'PAYMENT-SIGNATURE': header }),
      ]) {
        assert.equal(again.status, 409)
        assert.equal(again.body.error, 'payment_already_used')
      }
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999)
      assert.equal((await other.usage()).prepaidBalanceUsd, 0)
    })

    for (const [name, changes, reason] of [
      ['too little', { amount: '99999' }, /value_mismatch/],
      ['too much', { amount: '100001' }, /value_mismatch/],
      ['another payee', { payTo: accounts.operator }, /recipient_mismatch/],
      ['another asset', { asset: WETH }, /invalid_payment_requirements/],
      ['another network', { network: 'eip155:1' }, /invalid_network/],
      ['another domain', { extra: { name: 'USDC', version: '2' } }, /payload_signature/],
      ['a time that has passed', { maxTimeoutSeconds: 1 }, /valid_before$/],
      ['a time that is far away', { maxTimeoutSeconds: 4_000 }, /valid_before_too_late$/],
    ] as const)
      test(`a payment of or for ${name} is 402 with the reason, and moves nothing`, async () => {
        const visitor = await newVisitor(world)
        const unpaid = await visitor.get(PATH)
        const { header } = await signPayment(await newPayer(world.base, FUNDS), changes)
        const refused = await visitor.get(PATH, header)
        assertRejected(refused, reason)
        assert.equal(refused.text, unpaid.text)
        assert.equal((await visitor.usage()).prepaidBalanceUsd, 0)
      })

    test('a payment in the name of another wallet is 402 with the reason', async () => {
      const visitor = await newVisitor(world)
      const victim = await newPayer(world.base, FUNDS)
      const { signed } = await signPayment(await newPayer(world.base, FUNDS))
      const authorization = { ...signed.authorization, from: victim.address }
      const header = toHeader({ accepted: OFFER, payload: { ...signed, authorization } })
      assertRejected(await visitor.get(PATH, header), /payload_signature/)
    })

    test('the headers of a 402 are within what proxies take, however long the URL is', async () => {
      const visitor = await newVisitor(world)
      for (const length of [0, 300, 500, 1_000, 4_000]) {
        const { status, headers } = await visitor.get(`${PATH}?unknown=${'a'.repeat(length)}`)
        assert.equal(status, 402)
        const bytes = [...headers].reduce(
          (sum, [name, value]) => sum + name.length + value.length + 4,
          0,
        )
        assert.ok(bytes < HEADERS_BYTES_MAX, String(bytes))
      }
    })

    test('a payer without the money is 402 with the reason, each time', async () => {
      const visitor = await newVisitor(world)
      const { header } = await signPayment(await newPayer(world.base, 0n))
      assertRejected(await visitor.get(PATH, header), /insufficient_funds/)
      assertRejected(await visitor.get(PATH, header), /insufficient_funds/)
    })

    test('of ten requests with one payment at the same moment one is served, and it is settled once', async () => {
      const visitor = await newVisitor(world)
      const { header } = await signPayment(await newPayer(world.base, FUNDS))
      const seen = await Promise.all(Array.from({ length: 10 }, () => visitor.get(PATH, header)))
      const statuses = seen.map((each) => each.status)
      assert.deepEqual(new Set(statuses), new Set([200, 409]))
      // Who comes when it is settled already is served from the balance that it raised.
      const served = statuses.filter((status) => status === 200).length
      const usage = await visitor.usage()
      assert.equal(usage.prepaidBalanceUsd, (1_000 - served) / 10_000)
      assert.equal(usage.overageCount, served)
    })

    test('ten calls that met ten 402s do not buy ten times: the first payment pays for all', async () => {
      const visitor = await newVisitor(world)
      const payer = await newPayer(world.base, FUNDS)
      const payments = await Promise.all(Array.from({ length: 10 }, () => signPayment(payer)))
      const seen = await Promise.all(payments.map(({ header }) => visitor.get(PATH, header)))
      assert.deepEqual(
        seen.map((each) => each.status),
        Array(10).fill(200),
      )
      const usage = await visitor.usage()
      assert.equal(usage.prepaidBalanceUsd, 0.099)
      assert.equal(usage.overageCount, 10)
    })

    test('twenty callers who pay at once are all settled through the one wallet, in a row of nonces', async () => {
      const all = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const { header } = await signPayment(await newPayer(world.base, FUNDS))
          return { visitor: await newVisitor(world), header }
        }),
      )
      const seen = await Promise.all(
        all.map(({ visitor, header }) =>
          eventually(async () => {
            const answer = await visitor.get(PATH, header)
            return answer.status === 503 ? undefined : answer
          }, 50_000),
        ),
      )
      assert.deepEqual(
        seen.map((each) => each.status),
        Array(20).fill(200),
      )
      const hashes = new Set(seen.map((each) => receiptOf(each).transaction))
      assert.equal(hashes.size, 20)
      const nonces = await noncesOf(world, [...hashes])
      const [first = 0] = nonces
      assert.deepEqual(
        nonces,
        nonces.map((_, index) => first + index),
      )
      const balances = await Promise.all(all.map(({ visitor }) => visitor.usage()))
      for (const { prepaidBalanceUsd } of balances) assert.equal(prepaidBalanceUsd, 0.0999)
    })

    test('a payment that comes while balance is left is not settled, and can be used later', async () => {
      const visitor = await newVisitor(world)
      const payer = await newPayer(world.base, FUNDS)
      assert.equal((await visitor.get(PATH, (await signPayment(payer)).header)).status, 200)
      const { header } = await signPayment(payer)
      const free = await visitor.get(PATH, header)
      assert.equal(free.status, 200)
      assert.equal(free.headers.get('payment-response'), null)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0998)
      const other = await newVisitor(world)
      assert.equal((await other.get(PATH, header)).status, 200)
    })

    test('a payment whose receipt does not come is 503, never 402, also for who waits behind it, counts as open, and is credited once later', async () => {
      const visitor = await newVisitor(world)
      const buyer = await newVisitor(world)
      const payer = await newPayer(world.base, FUNDS)
      const [{ header }, behind] = [await signPayment(payer), await signPayment(payer)]
      const topup = await signPayment(await newPayer(world.base, FUNDS))
      const before = await readMetrics(world)
      await setAutomine(world.base, false)
      const leading = visitor.get(PATH, header)
      const buying = buyer.get('/api/sessions/topup', topup.header)
      await untilSent(world, 2)
      const waiting = await visitor.get(PATH, behind.header)
      assert.equal(waiting.status, 503)
      assert.equal(waiting.body.error, 'settlement_pending')
      assert.equal(waiting.body.transaction, receiptOf(await leading).transaction)
      assert.equal(waiting.headers.get('payment-response'), null)
      for (const pending of [await leading, await buying]) {
        assert.equal(pending.status, 503)
        assert.equal(pending.body.error, 'settlement_pending')
        assert.ok(Number(pending.headers.get('retry-after')) > 0)
        const receipt = receiptOf(pending)
        assert.equal(receipt.success, false)
        assert.equal(receipt.errorReason, 'settlement_pending')
        assert.match(receipt.transaction, /^0x[0-9a-f]{64}$/)
      }
      const unpaid = await visitor.get(PATH)
      assert.equal(unpaid.status, 503, 'whoever pays again pays twice')
      assert.equal(unpaid.body.error, 'settlement_pending')
      const open = await readMetrics(world)
      assert.equal(open.get('payments pending'), (before.get('payments pending') ?? 0) + 2)
      assert.ok((open.get('open_seconds oldest') ?? 0) >= 1)
      await setAutomine(world.base, true)
      await passBlocks(world.base, 1)
      await untilBalance(visitor, 0.1)
      await untilBalance(buyer, 0.1)
      const closed = await readMetrics(world)
      assert.equal(closed.get('open_seconds oldest'), 0)
      await passBlocks(world.base, 3)
      assert.equal((await visitor.get(PATH, header)).status, 200, 'it serves its call')
      assert.equal((await visitor.get(PATH, header)).status, 409)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999)
      const other = await newVisitor(world)
      assert.equal((await other.get(PATH, behind.header)).status, 200, 'who waited kept it')
      const url = '/api/sessions/topup'
      assert.equal((await buyer.get(url, topup.header)).status, 200)
      assert.equal((await buyer.get(url, topup.header)).status, 409)
      assert.equal((await buyer.usage()).prepaidBalanceUsd, 0.1)
    })

    test('a reorg takes a settlement back, and the same payment is sent and credited again', async () => {
      const visitor = await newVisitor(world)
      const payer = await newPayer(world.base, FUNDS)
      await passBlocks(world.base, 3)
      const { header } = await signPayment(payer)
      const paid = await visitor.get(PATH, header)
      assert.equal(paid.status, 200)
      await setAutomine(world.base, false)
      await reorg(world.base, { depth: 2 })
      await untilBalance(visitor, 0)
      await setAutomine(world.base, true)
      await passBlocks(world.base, 1)
      await untilSettledAgain(world, visitor, 0.0999)
    })

    test('what x402 settled cannot be claimed by a prepayment', async () => {
      const { api, base, devnet } = world
      const key = await mintOpened(world, devnet.wallets.holder)
      const holder = privateKeyToAccount(devnet.wallets.holder.privateKey)
      const visitor = await newVisitor(world)
      const paid = await visitor.get(PATH, (await signPayment(holder)).header)
      assert.equal(paid.status, 200)
      const claimed = await api.post('/api/sessions/prepay', {
        apiKeyPublicId: key.publicId,
        txHash: receiptOf(paid).transaction,
        payerAddress: holder.address,
        amountUsd: 0.1,
      })
      await passBlocks(base, 4)
      const record = await eventually(async () => {
        const { body } = await api.get(`/api/sessions/prepay/${claimed.body.id}`)
        return body.status === 'rejected' ? body : undefined
      }, 20_000)
      assert.equal(record.creditedUsd, null)
      assert.equal((await api.get('/api/usage', key.authorization)).body.prepaidBalanceUsd, 0)
    })

    test('a payment that its payer sent alone is not credited to who shows it: a prepayment credits it', async () => {
      const { api, base, devnet } = world
      const key = await mintOpened(world, devnet.wallets.holder)
      const holder = privateKeyToAccount(devnet.wallets.holder.privateKey)
      const { signed, header } = await signPayment(holder)
      const txHash = await sendFirst(world, signed)
      const claim = { apiKeyPublicId: key.publicId, txHash, payerAddress: holder.address }
      const { body } = await api.post('/api/sessions/prepay', { ...claim, amountUsd: 0.1 })
      await passBlocks(base, 4)
      await eventually(async () => {
        const record = await api.get(`/api/sessions/prepay/${body.id}`)
        return record.body.verified ? true : undefined
      }, 20_000)
      const visitor = await newVisitor(world)
      assert.equal((await visitor.get(PATH, header)).status, 409)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0)
      assert.equal((await api.get('/api/usage', key.authorization)).body.prepaidBalanceUsd, 0.1)
    })

    test('of 200 calls with one paid call of the cap left one is paid; the others are 403, which no client pays', async () => {
      const { api, base, origin } = world
      const { publicId, authorization } = await mintOpened(world, world.devnet.wallets.holder)
      const limits = `/api/keys/${publicId}/limits`
      const paying = payingFetch(await newPayer(base, FUNDS))
      const call = () => paying(`${origin}${PATH}`, { headers: authorization })
      // A free one at most, one that buys balance, and one of its balance.
      for (let calls = 0; calls < 3; calls += 1) assert.equal((await call()).status, 200)
      const balance = async () =>
        (await api.get('/api/usage', authorization)).body.prepaidBalanceUsd
      const held = await balance()
      const { spentTodayUsd } = (await api.get(limits, authorization)).body
      const cap = { dailyCapUsd: Number((spentTodayUsd + 0.0001).toFixed(6)) }
      assert.equal((await api.post(limits, cap, authorization)).status, 200)
      const statuses = await Promise.all(
        Array.from({ length: 200 }, async () => {
          const answer = await call()
          const { error } = answer.status === 403 ? JSON.parse(await answer.text()) : {}
          return error ?? answer.status
        }),
      )
      assert.deepEqual(
        Object.fromEntries(
          [...Map.groupBy(statuses, String)].map(([code, all]) => [code, all.length]),
        ),
        { 200: 1, spending_limit_reached: 199 },
      )
      assert.equal(await balance(), Number((held - 0.0001).toFixed(6)), 'and nobody paid more')
      const read = await api.get(limits, authorization)
      assert.equal(read.body.spentTodayUsd, cap.dailyCapUsd)
    })

    test('the audit finds nothing, also of what the other files paid', async () => {
      await passBlocks(world.base, 3)
      assert.deepEqual(await auditService(world), [])
    })
  })

function receiptOf(seen: Seen) {
  return decodePaymentResponseHeader(seen.headers.get('payment-response') ?? '')
}

function assertRejected(seen: Seen, reason: RegExp): void {
  assert.equal(seen.status, 402, seen.text)
  const receipt = receiptOf(seen)
  assert.equal(receipt.success, false)
  assert.match(receipt.errorReason ?? '', reason)
  const offer = decodePaymentRequiredHeader(seen.headers.get('payment-required') ?? '')
  assert.ok(offer.error?.startsWith(`${receipt.errorReason}: `))
  assert.equal(offer.accepts.length, 2)
}

/** Nonces of sealed transactions, in their order. */
async function noncesOf({ base }: X402World, hashes: readonly string[]): Promise<number[]> {
  const found = await base.rpc.sendBatch(
    hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
  )
  return found
    .map((each) => {
      assert.ok(typeof each === 'object' && each !== null && 'nonce' in each)
      assert.ok('blockNumber' in each && each.blockNumber !== null)
      return Number(each.nonce)
    })
    .sort((a, b) => a - b)
}
