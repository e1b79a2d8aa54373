import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { PrivateKeyAccount } from 'viem/accounts'
import { accounts } from '#devnet/addresses.ts'
import { auditService } from '../audit-service.ts'
import { eventually } from '../world.ts'
import { deployWallet, undeployedWallet } from './contract-wallet.ts'
import {
  newVisitor,
  type Seen,
  signPayment,
  untilSettledAgain,
  type Visitor,
} from './raw-payment.ts'
import {
  type Fault,
  type FaultOfPayer,
  type ReferenceFacilitator,
  startFacilitator,
} from './reference-facilitator.ts'
import {
  fundWallet,
  heldBy,
  mintOpened,
  newPayer,
  olderFetch,
  passBlocks,
  payingAxios,
  payingFetch,
  startX402World,
  type X402World,
} from './x402-world.ts'

const FUNDS = 5_000_000n
const PATH = '/api/burns/total'
const TOPUP = '/api/sessions/topup'

const FAULTS: readonly Fault[] = ['frozen', 'slow', 'cut', '429', '500', 'HTML', 'half a body']

const ALL = [...FAULTS, 'a lie'] as const

/** A payment with a fault of its own. */
interface Case {
  readonly name: string
  readonly visitor: Visitor
  readonly account: PrivateKeyAccount
  readonly header: string
}

interface Asked {
  readonly unverified: readonly Case[]
  readonly lost: readonly Case[]
  readonly unmade: readonly Case[]
  readonly poor: readonly Case[]
  readonly answers: ReadonlyMap<Case, Seen>
}

describe('payments through a facilitator that is another service', () => {
  let facilitator: ReferenceFacilitator
  let world: X402World
  let paidBefore: bigint
  let asked: Asked

  before(async () => {
    facilitator = await startFacilitator()
    world = await startX402World({
      facilitator: facilitator.url,
      headers: 'Authorization: Bearer of-the-operator\n',
      environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32' },
      change(file) {
        const chain = file.chains.find(({ name }) => name === 'base')
        facilitator.follow(chain?.rpcUrls[0] ?? '')
        return file
      },
    })
    paidBefore = await heldBy(world.base, accounts.payTo)
  })
  after(async () => {
    await world.stop()
    await facilitator.stop()
  })

  const prepare = (faults: readonly FaultOfPayer[], funds = FUNDS): Promise<Case[]> => {
    return Promise.all(
      faults.map(async (fault) => {
        const account = await newPayer(world.base, funds)
        facilitator.faults.set(account.address.toLowerCase(), fault)
        const { header } = await signPayment(account)
        return { name: fault.fault, account, header, visitor: await newVisitor(world) }
      }),
    )
  }

  /** Each fault at its step, all at the same time. */
  const askAll = async (): Promise<Asked> => {
    const unverified = await prepare(ALL.map((fault) => ({ step: 'verify', fault, isDone: true })))
    const lost = await prepare(ALL.map((fault) => ({ step: 'settle', fault, isDone: true })))
    const unmade = await prepare(ALL.map((fault) => ({ step: 'settle', fault, isDone: false })))
    const poor = await prepare([{ step: 'verify', fault: 'a lie', isDone: false }], 0n)
    const all = [...unverified, ...lost, ...unmade, ...poor]
    const seen = await Promise.all(all.map(({ visitor, header }) => visitor.get(PATH, header)))
    facilitator.faults.clear()
    const answers = new Map(
      all.flatMap((each, n) => (seen[n] === undefined ? [] : [[each, seen[n]]])),
    )
    return { unverified, lost, unmade, poor, answers }
  }

  test('stock clients pay by GET and POST, in both versions, with and without a key', async () => {
    const { base, origin, devnet } = world
    const { authorization } = await mintOpened(world, devnet.wallets.holder)
    const from = { 'X-Forwarded-For': '203.0.113.1' }
    for (const headers of [authorization, from]) {
      assert.equal((await world.api.get('/api/stats', headers)).status, 200, 'the free call')
      const payer = await newPayer(base, FUNDS)
      const paid = await payingFetch(payer)(`${origin}${PATH}`, { headers })
      assert.equal(paid.status, 200, await paid.clone().text())
      const posted = await payingFetch(payer)(`${origin}${TOPUP}`, { method: 'POST', headers })
      assert.equal(posted.status, 200, await posted.clone().text())
      const older = await olderFetch(payer)(`${origin}${TOPUP}`, { method: 'POST', headers })
      assert.equal(older.status, 200, await older.clone().text())
      const axios = await payingAxios(payer, `${origin}${TOPUP}`, headers)
      assert.equal(axios.status, 200)
      assert.equal((await world.api.get('/api/usage', headers)).body.prepaidBalanceUsd, 0.3999)
    }
    assert.equal(facilitator.seen.headers.authorization, 'Bearer of-the-operator')
  })

  test('a contract wallet pays by the stock client, and is refused in a word where it is not deployed', async () => {
    const owner = await newPayer(world.base, 0n)
    const wallet = await deployWallet(world, owner)
    await fundWallet(world.base, { to: wallet.address, amount: FUNDS })
    const visitor = await newVisitor(world)
    const url = `${world.origin}${PATH}`
    const paid = await payingFetch(wallet)(url, { headers: visitor.from })
    assert.equal(paid.status, 200, await paid.clone().text())
    assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999)
    const { header } = await signPayment(undeployedWallet(owner))
    const refused = await (await newVisitor(world)).get(PATH, header)
    assert.equal(refused.status, 402)
    const { errorReason } = decodePaymentResponseHeader(
      refused.headers.get('payment-response') ?? '',
    )
    assert.equal(errorReason, 'invalid_exact_evm_payload_signature')
  })

  test('the facilitator learns from a payment what its list of services shows', () => {
    const listed = JSON.parse(JSON.stringify(facilitator.seen.listed))
    assert.equal(new URL(listed.resourceUrl).pathname, TOPUP)
    assert.equal(listed.serviceName, 'Sexton')
    assert.deepEqual(listed.discoveryInfo.input.queryParams, { usd: '0.1' })
  })

  test('a facilitator that cannot verify moves nothing: 402 without an offer, and the payment may be shown again', async () => {
    asked = await askAll()
    for (const each of asked.unverified) {
      const { name, visitor, header } = each
      const seen = asked.answers.get(each)
      assert.equal(seen?.status, 402, `${name}: ${seen?.text}`)
      const next = await visitor.get(PATH, header)
      assert.equal(next.status, 200, `${name}: ${next.text}`)
    }
  })

  test('a settlement whose answer is lost or a lie is found on the chain, served and credited once', async () => {
    let atOnce = 0
    for (const each of asked.lost) {
      const { name, visitor, header } = each
      let seen = asked.answers.get(each)
      if (seen?.status === 200) atOnce += 1
      else {
        // All at the same time may take a busy machine longer than a payment waits.
        assertPending(seen, name)
        await untilSettledAgain(world, visitor, 0.1)
        seen = await visitor.get(PATH, header)
      }
      assert.equal(seen?.status, 200, `${name}: ${seen?.text}`)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999, name)
      assert.equal((await visitor.get(PATH, header)).status, 409, name)
    }
    assert.ok(atOnce > 0)
  })

  test('a settlement that was not made is 503, also for an unpaid call, never 402; a later try makes it, and it serves its call', async () => {
    for (const each of [...asked.unmade, ...asked.poor])
      assertPending(asked.answers.get(each), each.name)
    for (const { visitor, name } of asked.unmade) assertPending(await visitor.get(PATH), name)
    for (const { visitor, header, name } of asked.unmade) {
      await untilSettledAgain(world, visitor, 0.1)
      const served = await visitor.get(PATH, header)
      assert.equal(served.status, 200, `${name}: ${served.text}`)
      assert.equal((await visitor.get(PATH, header)).status, 409, name)
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0.0999, name)
    }
  })

  test('a payer without the money whom the facilitator lets pass is 503 while the authorization runs', async () => {
    for (const { visitor } of asked.poor) {
      assertPending(await visitor.get(PATH))
      assert.equal((await visitor.usage()).prepaidBalanceUsd, 0)
    }
  })

  test('a facilitator that is gone hides the offer', async () => {
    const visitor = await newVisitor(world)
    const untilShown = (isShown: boolean) =>
      eventually(async () => {
        const { headers } = await visitor.get(PATH)
        return headers.has('payment-required') === isShown ? true : undefined
      }, 90_000)
    await untilShown(true)
    await facilitator.stop()
    await untilShown(false)
  })

  test('each payment moved its money once, and the audit finds nothing', async () => {
    await passBlocks(world.base, 3)
    const settled = 9 + 3 * ALL.length
    assert.equal(
      (await heldBy(world.base, accounts.payTo)) - paidBefore,
      BigInt(settled) * 100_000n,
    )
    assert.deepEqual(await auditService(world), [])
  })
})

function assertPending(seen: Seen | undefined, name = ''): void {
  assert.ok(seen?.status === 503, `${name}: ${seen?.text}`)
  assert.equal(seen.body.error, 'settlement_pending', name)
  assert.ok(Number(seen.headers.get('retry-after')) > 0, name)
}
