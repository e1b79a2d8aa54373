import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { onSqlite } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { toBase64 } from './offers/offer.ts'
import { CallPayments } from './pay-for-call.ts'
import { PaymentDesk } from './payment-desk.ts'
import { type SettlingHarness, settlingHarness } from './settling/settling-harness.ts'
import { ASSET, CALLER, PAY_TO } from './x402-harness.ts'

/** Looks at payments more often than any number of callers have reason to, and the test ends. */
const LOOKS_MAX = 100

class CountingDesk extends PaymentDesk {
  #looks = 0
  override isUnderWay(payload: Parameters<PaymentDesk['isUnderWay']>[0]): boolean {
    this.#looks += 1
    assert.ok(this.#looks < LOOKS_MAX, 'who waits asks again and again')
    return super.isUnderWay(payload)
  }
}

test('who waits behind a payment that is rejected has its turn, also while the 402 of the first waits for a node', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { settling } = harness
    const gate = Promise.withResolvers<boolean>()
    let isOffering = false
    const deps = {
      ...settling,
      availability: { isAvailable: () => (isOffering ? gate.promise : Promise.resolve(true)) },
    }
    const calls = new CallPayments<string>({
      ...deps,
      desk: new CountingDesk(deps),
      settlements: settling.recoveries,
      admitCredited: async () => 'admitted',
      admitSignedIn: async () => undefined,
      quotaBody: () => ({}),
    })
    const headers = await Promise.all([1, 2, 3].map((n) => signUnfunded(harness, n)))
    const settle = deps.rpc.call
    // The first answer of the node to a simulation is the moment from which offers have to wait.
    Object.assign(deps.rpc, {
      call: (input: Parameters<typeof settle>[0]) => {
        isOffering ||= input.from !== undefined
        return settle(input)
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
    const seen = await Promise.all(paying)
    assert.deepEqual(harness.reports, [])
    assert.deepEqual(await harness.states(), Array(3).fill('abandoned'))
    const kinds = seen.map((each) => each?.kind)
    assert.deepEqual(kinds, ['unsettled', 'unsettled', 'unsettled'])
  })
})

async function signUnfunded(
  { authorize }: Pick<SettlingHarness, 'authorize'>,
  n: number,
): Promise<string> {
  const account = privateKeyToAccount(generatePrivateKey())
  const authorization = { ...authorize(n), from: account.address }
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
  return toBase64({ x402Version: 2, accepted, payload })
}
