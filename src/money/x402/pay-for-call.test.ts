import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { ledgerChecks } from '#accounts/ledger/check.ts'
import { callerChecks } from '#accounts/metering/caller-checks.ts'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import { type Address, parseAddress } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { accountsMigrations } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openCutConnection } from '#test/cut-connection.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { type SettlingHarness, settlingHarness } from '#test/x402/settling-harness.ts'
import { ASSET, CALLER, PAY_TO } from '#test/x402/x402-harness.ts'
import { toBase64 } from './offers/offer.ts'
import { CallPayments } from './pay-for-call.ts'
import { PaymentReceiver } from './payment-receiver.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

test('who waits behind a payment that is rejected has its turn, also while the 402 of the first waits for a node', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { settling } = harness
    const gate = Promise.withResolvers<boolean>()
    let isOffering = false
    const deps = {
      ...settling,
      readiness: { isReady: () => (isOffering ? gate.promise : Promise.resolve(true)) },
    }
    const calls = new CallPayments({
      ...deps,
      receiver: new PaymentReceiver(deps),
      settlements: settling.recoveries,
      quotaBody: () => ({}),
    })
    const signed = await Promise.all([1, 2, 3].map((n) => signPayment(harness, n)))
    const headers = signed.map(({ header }) => header)
    const { header } = deps.rpc
    let heads = 0
    // The 402 of the first payment waits for the store.
    Object.assign(deps.rpc, {
      header: (at: Parameters<typeof header>[0]) => {
        heads += 1
        isOffering ||= heads > 1
        return header(at)
      },
    })
    const paying = headers.map((header) =>
      calls.pay(CALLER, {
        requestId: 'r',
        headers: { 'payment-signature': header },
        addressBucket: CALLER.bucket,
        signal: new AbortController().signal,
        target: '/api/stats',
      }),
    )
    setTimeout(() => gate.resolve(true), 50)
    const seen = await harness.whileLeading(Promise.all(paying))
    assert.deepEqual(harness.reports, [])
    assert.deepEqual(await harness.states(), Array(3).fill('abandoned'))
    const kinds = seen.map((each) => each?.kind)
    assert.deepEqual(kinds, ['unsettled', 'unsettled', 'unsettled'])
  })
})

/** A store whose next commit succeeds but reports a lost connection. */
function loseNextCommit(engine: Engine) {
  let isLost = false
  const lossy: Engine = {
    ...engine,
    async write(work) {
      const done = await engine.write(work)
      if (!isLost) return done
      isLost = false
      throw new StoreError('the connection is lost at the commit')
    },
  }
  return {
    lossy,
    lose() {
      isLost = true
    },
  }
}

/** Pays for a call in a transaction whose commit goes unacknowledged. */
async function payAndHearNothing(engine: Engine, lossy: Engine, lose: () => void): Promise<void> {
  const harness = settlingHarness(lossy)
  const { chain, settling } = harness
  const { clock } = settling
  const meter = meterOf(testContext({ accounts: engine, clock }))
  const calls = new CallPayments({
    ...settling,
    receiver: new PaymentReceiver(settling),
    settlements: settling.recoveries,
    quotaBody: () => ({}),
  })
  const payer: Caller = { ...CALLER, dailyQuota: 0 }
  const { header, from } = await signPayment(harness, 1)
  chain.fund(from, 1_000_000n)
  const paying = harness.whileLeading(
    calls.pay(payer, {
      requestId: 'r',
      headers: { 'payment-signature': header },
      addressBucket: CALLER.bucket,
      signal: new AbortController().signal,
      target: '/api/stats',
    }),
  )
  while (chain.sent.length === 0) await nextTurn()
  chain.mine()
  const proven = await paying
  assert.ok(proven?.kind === 'proven')
  assert.deepEqual(await harness.states(), ['submitted'])
  lose()
  const paid = await proven.post('credit and call')
  assert.ok(paid?.kind === 'unsettled' && paid.ending.kind === 'refusal')
  assert.equal(paid.ending.code, 'settlement_pending')
  assert.deepEqual(await harness.states(), ['credited'])
  const { requestCount, prepaidBalance } = await meter.rateLimit(payer)
  assert.deepEqual({ requestCount, prepaidBalance }, { requestCount: 1, prepaidBalance: 99_900n })
  assert.deepEqual(await harness.audit(), [])
  for (const check of [...ledgerChecks, ...callerChecks])
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

onBoth(
  'a payment is credited once, and its call charged once, if the result of their commit is lost',
  async (store) => {
    const { lossy, lose } = loseNextCommit(store.engine)
    await payAndHearNothing(store.replica(), lossy, lose)
  },
)

test('PostgreSQL: a payment is credited once if its connection is cut at COMMIT', async () => {
  const server = await startPostgres()
  const url = await server.createDatabase()
  const engine = openPostgres({ url, schema: 'accounts' })
  await engine.migrate(accountsMigrations)
  const way = await openCutConnection(url, {
    after: ['insert into credits', 'commit'],
    is: 'answered',
  })
  const cut = openPostgres({ url: way.url, schema: 'accounts' })
  try {
    await payAndHearNothing(engine, cut, way.arm)
    assert.equal(way.cuts(), 1)
  } finally {
    await Promise.all([engine.close(), cut.close()])
    await way.close()
    await server.stop()
  }
})

async function signPayment(
  { authorize }: Pick<SettlingHarness, 'authorize'>,
  n: number,
): Promise<{ readonly header: string; readonly from: Address }> {
  const account = privateKeyToAccount(generatePrivateKey())
  const from = parseAddress(account.address)
  assert.ok(from !== undefined)
  const authorization = { ...authorize(n), from }
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: ASSET },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  })
  const { value, validAfter, validBefore } = authorization
  const [amount, after, before] = [value, validAfter, validBefore].map(String)
  const texts = { ...authorization, value: amount, validAfter: after, validBefore: before }
  const accepted = { scheme: 'exact', network: 'eip155:8453', amount, asset: ASSET, payTo: PAY_TO }
  const payload = { authorization: texts, signature }
  return { header: toBase64({ x402Version: 2, accepted, payload }), from }
}
