import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import {
  createSIWxClientExtension,
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxExtensionInfo,
} from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import { reorg, setAutomine } from '#devnet/actions.ts'
import { eitherEngine } from '../long-version.ts'
import {
  newVisitor,
  type Seen,
  signPayment,
  untilBalance,
  untilSettledAgain,
  type Visitor,
} from './raw-payment.ts'
import { sharedWorld } from './shared-world.ts'
import { mintOpened, newPayer, passBlocks, type X402World } from './x402-world.ts'

const FUNDS = 5_000_000n
const PATH = '/api/burns/total'

/** What proxies take of response headers by default (nginx: one page of memory). */
const HEADERS_BYTES_MAX = 4_096

for (const engine of eitherEngine)
  describe(`a wallet that signs in, on ${engine}`, () => {
    let world: X402World
    before(() => {
      world = sharedWorld(engine)
    })

    test('the stock client pays at one address and is served from that money at another, paying once', async () => {
      const payer = await newPayer(world.base, FUNDS)
      const [home, away] = [await newVisitor(world), await newVisitor(world)]
      const pays = signingFetch(payer)
      const url = `${publicOrigin(world)}${PATH}`
      const paid = await pays(url, { headers: home.from })
      assert.equal(paid.status, 200, await paid.text())
      assert.ok(paid.headers.has('payment-response'))
      assert.equal((await home.usage()).prepaidBalanceUsd, 0.0999)
      for (const visitor of [away, away, home]) {
        const served = await pays(url, { headers: visitor.from })
        assert.equal(served.status, 200, await served.text())
        assert.equal(served.headers.get('payment-response'), null)
        assert.equal(served.headers.get('x-ratelimit-source'), 'prepaid')
        assert.equal(served.headers.get('x-ratelimit-limit'), '1')
        assert.equal(served.headers.get('x-ratelimit-remaining'), '0')
      }
      assert.equal((await home.usage()).prepaidBalanceUsd, 0)
      const header = await signIn(world, away, payer)
      assert.equal((await away.usage(header)).prepaidBalanceUsd, 0.0996)
    })

    test('a message serves its address again and again, and no other one', async () => {
      const payer = await newPayer(world.base, FUNDS)
      const [home, away] = [await newVisitor(world), await newVisitor(world)]
      const thief = await newVisitor(world)
      assert.equal((await home.get(PATH, (await signPayment(payer)).header)).status, 200)
      const header = await signIn(world, away, payer)
      for (let n = 0; n < 3; n += 1)
        assert.equal((await away.get(PATH, undefined, header)).status, 200)
      const stolen = await thief.get(PATH, undefined, header)
      assert.equal(stolen.status, 402)
      assert.equal(offerOf(stolen).error, 'invalid_siwx_nonce')
      assert.equal((await thief.usage(header)).prepaidBalanceUsd, 0)
    })

    test('ten calls at once with one message are ten calls, each paid once', async () => {
      const payer = await newPayer(world.base, FUNDS)
      const [home, away] = [await newVisitor(world), await newVisitor(world)]
      assert.equal((await home.get(PATH, (await signPayment(payer)).header)).status, 200)
      const header = await signIn(world, away, payer)
      const seen = await Promise.all(
        Array.from({ length: 10 }, () => away.get(PATH, undefined, header)),
      )
      assert.deepEqual(
        seen.map((each) => each.status),
        Array(10).fill(200),
      )
      assert.equal((await away.usage(header)).prepaidBalanceUsd, 0.0989)
    })

    test("a payment that comes with a sign-in is the wallet's; those that wait behind it keep theirs", async () => {
      const payer = await newPayer(world.base, FUNDS)
      const away = await newVisitor(world)
      const header = await signIn(world, away, payer)
      const payments = await Promise.all(Array.from({ length: 3 }, () => signPayment(payer)))
      const seen = await Promise.all(
        payments.map((payment) => away.get(PATH, payment.header, header)),
      )
      assert.deepEqual(
        seen.map((each) => each.status),
        [200, 200, 200],
      )
      assert.equal((await away.usage(header)).prepaidBalanceUsd, 0.0997)
      assert.equal((await away.usage()).prepaidBalanceUsd, 0)
    })

    test('a sign-in that is not taken is 402 with the reason, and its payment is not settled', async () => {
      const payer = await newPayer(world.base, FUNDS)
      const visitor = await newVisitor(world)
      const { header } = await signPayment(payer)
      const refused = await visitor.get(PATH, header, 'e30=')
      assert.equal(refused.status, 402)
      assert.equal(offerOf(refused).error, 'invalid_siwx_header')
      assert.equal(refused.headers.get('payment-response'), null)
      assert.equal((await visitor.get(PATH, header)).status, 200)
    })

    test('a reorg takes a collected payment from its wallet and nothing from who else paid at the address', async () => {
      const { base } = world
      const [ann, bob] = [await newPayer(base, FUNDS), await newPayer(base, FUNDS)]
      const [home, away] = [await newVisitor(world), await newVisitor(world)]
      const topUp = async (payer: PrivateKeyAccount) =>
        (await home.get('/api/sessions/topup', (await signPayment(payer)).header)).status
      assert.equal(await topUp(bob), 200)
      await passBlocks(base, 3)
      assert.equal(await topUp(ann), 200)
      const header = await signIn(world, away, ann)
      const collected = { usage: () => away.usage(header) }
      await untilBalance(collected, 0.1)
      await setAutomine(base, false)
      await reorg(base, { depth: 2 })
      await untilBalance(collected, 0)
      assert.equal((await home.usage()).prepaidBalanceUsd, 0.1)
      await setAutomine(base, true)
      await passBlocks(base, 1)
      await untilSettledAgain(world, collected, 0.1)
      assert.equal((await home.usage()).prepaidBalanceUsd, 0.1)
    })

    test('a top-up with a sign-in that is not taken is 402 with the reason, and its payment is not settled', async () => {
      const visitor = await newVisitor(world)
      const topup = '/api/sessions/topup'
      const { header } = await signPayment(await newPayer(world.base, FUNDS))
      for (const payment of [undefined, header]) {
        const refused = await visitor.get(topup, payment, 'e30=')
        assert.equal(refused.status, 402)
        assert.equal(refused.body.error, 'invalid_siwx_header')
        assert.equal(offerOf(refused).error, 'invalid_siwx_header')
        assert.equal(refused.headers.get('payment-response'), null)
      }
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0)
      assert.equal((await visitor.get(topup, header)).status, 200)
      assert.equal((await visitor.get(topup, header, 'e30=')).status, 409)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.1)
    })

    test('a 402 without a key offers it, one with a key does not', async () => {
      const visitor = await newVisitor(world)
      const url = '/api/stats/history?metric=supply&period=365d&format=json'
      const offer = offerOf(await visitor.get(url))
      assert.ok(PaymentRequiredV2Schema.safeParse(offer).success)
      assert.ok(offer.extensions?.['sign-in-with-x'] !== undefined)
      assert.ok(offer.resource?.url.endsWith(url))
      const key = await mintOpened(world, world.devnet.wallets.holder)
      await world.api.get(PATH, key.authorization)
      const keyed = await world.api.get(PATH, key.authorization)
      assert.equal(keyed.status, 402)
      assert.equal(offerOf(keyed).extensions, undefined)
    })

    test('the headers of a 402 are within what proxies take, however long the URL is', async () => {
      const visitor = await newVisitor(world)
      const tooLittle = { amount: '99999' }
      const { header } = await signPayment(await newPayer(world.base, FUNDS), tooLittle)
      for (const length of [0, 100, 200, 300, 400, 500, 1_000, 4_000])
        for (const payment of [undefined, header]) {
          const seen = await visitor.get(`${PATH}?unknown=${'a'.repeat(length)}`, payment)
          assert.equal(seen.status, 402)
          assert.ok(offerOf(seen).extensions?.['sign-in-with-x'] !== undefined)
          assert.ok(bytesOf(seen) < HEADERS_BYTES_MAX, String(bytesOf(seen)))
        }
    })
  })

function bytesOf({ headers }: Pick<Seen, 'headers'>): number {
  return [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
}

/** `fetch` of the stock client with its extension for signing in. */
function signingFetch(account: PrivateKeyAccount): typeof fetch {
  const client = new x402Client()
    .register('eip155:8453', new ExactEvmScheme(account))
    .registerExtension(createSIWxClientExtension({ signers: [account] }))
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

/** A client signs only for the very origin that it called. */
function publicOrigin({ origin }: X402World): string {
  return `http://localhost:${new URL(origin).port}`
}

function offerOf(seen: Pick<Seen, 'headers'>) {
  return decodePaymentRequiredHeader(seen.headers.get('payment-required') ?? '')
}

/** The header that a wallet makes of the offer in a 402. */
async function signIn(
  world: X402World,
  visitor: Visitor,
  account: PrivateKeyAccount,
): Promise<string> {
  const offered = offerOf(await visitor.get('/api/dividends/recent')).extensions?.['sign-in-with-x']
  assert.ok(typeof offered === 'object' && offered !== null && 'info' in offered)
  const info = {
    ...(offered.info as SIWxExtensionInfo),
    chainId: 'eip155:8453',
    type: 'eip191',
  } as const
  return encodeSIWxHeader(await createSIWxPayload(info, account, publicOrigin(world)))
}
