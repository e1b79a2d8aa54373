import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hash } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import { NodeRefusal } from '#chain/rpc-error.ts'
import { readConfig } from '#config.ts'
import type { Engine } from '#db/engine.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { PAYMENT } from '#test/x402/settling-harness.ts'
import { ASSET, NOON_UNIX, PAY_TO, PAYER, word } from '#test/x402/x402-harness.ts'
import {
  evmSigner,
  gasOfDay,
  getSettling,
  openWallet,
  readSettlingSetting,
  type Settling,
} from './settling.ts'

const URL = 'https://facilitator.example'
const KEY = { SEXTON_SETTLING_KEY_FILE: '/run/key' }
const HEADERS = { SEXTON_FACILITATOR_HEADERS_FILE: '/run/headers' }

const settle = { ...PAYMENT, settle: { facilitator: URL } }

const read = (payment: typeof PAYMENT | null, environment = {}) =>
  readSettlingSetting({
    ecosystem: { ...parseEcosystem('local', localEcosystem), payment },
    config: readConfig(environment, { isTty: false }),
  })

test('payments are settled by a wallet or by a facilitator, or not at all', () => {
  assert.equal(read(PAYMENT), undefined)
  assert.equal(read(null), undefined)
  assert.deepEqual(read(PAYMENT, KEY), {
    ...{ kind: 'wallet', keyFile: '/run/key' },
    gasPerDayGwei: 40_000_000,
  })
  assert.deepEqual(read(settle), { kind: 'facilitator', url: URL, headersFile: undefined })
  assert.deepEqual(read(settle, HEADERS), {
    ...{ kind: 'facilitator', url: URL, headersFile: '/run/headers' },
  })
})

test('both at once, and a file that belongs to neither, are refused by name', () => {
  assert.throws(() => read(settle, KEY), /SETTLING_KEY_FILE: .* keep one of them/)
  assert.throws(() => read(null, KEY), /SETTLING_KEY_FILE: the ecosystem file has no "payment"/)
  assert.throws(() => read(PAYMENT, HEADERS), /HEADERS_FILE: .* names no facilitator/)
})

test("a facilitator's redirect is not followed, and no error repeats the key that it was sent", async (t) => {
  const server = createServer(({ url, headers }, response) => {
    assert.equal(headers['x-api-key'], 'the-key')
    if (url === '/verify') response.writeHead(307, { Location: '/elsewhere' }).end()
    else response.writeHead(401).end(`{"errorReason":"no key the-key"}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close().closeAllConnections())
  const file = join(await mkdtemp(join(tmpdir(), 'key-')), 'headers')
  await writeFile(file, 'X-Api-Key: the-key\n')
  const facilitator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const payment = { ...PAYMENT, settle: { facilitator } }
  const ecosystem = { ...parseEcosystem('local', localEcosystem), payment }
  const config = readConfig({ SEXTON_FACILITATOR_HEADERS_FILE: file }, { isTty: false })
  const settling = await getSettling(testContext({ ecosystem, config }))
  const asked = [{}, {}] as unknown as Parameters<Settling['client']['verify']>
  await assert.rejects(async () => settling?.client.verify(...asked), /\/verify answers HTTP 307/)
  assert.equal((await settling?.client.settle(...asked))?.errorReason, 'unknown')
})

const INPUTS = ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes32', 'bytes']

const abi = ['transferWithAuthorization', 'receiveWithAuthorization'].map((name) => ({
  ...{ type: 'function', name, outputs: [], stateMutability: 'nonpayable' },
  inputs: INPUTS.map((type, n) => ({ type, name: `_${n}` })),
}))

function signer() {
  const sent: Hash[] = []
  const wallet = {
    address: PAYER,
    async send(data: Hash) {
      sent.push(data)
      return word(1)
    },
  }
  const rpc = {
    call: async () => '0x' as const,
    code: async () => '0x' as const,
  }
  return { sent, ...evmSigner(rpc, wallet, PAYMENT) }
}

test('the settling wallet sends transfers of the asset to payTo wallets, and nothing else', async () => {
  const { sent, writeContract, sendTransaction } = signer()
  const args = [PAYER, PAY_TO, 1n, 0n, 1n, word(1), '0x12']
  const transfer = { address: ASSET, abi, functionName: 'transferWithAuthorization', args }
  assert.equal(await writeContract(transfer), word(1))
  for (const other of [
    { ...transfer, address: PAYER },
    { ...transfer, functionName: 'receiveWithAuthorization' },
    { ...transfer, args: args.with(1, PAYER) },
  ])
    await assert.rejects(writeContract(other), /a settling wallet/)
  await assert.rejects(sendTransaction({ to: PAYER, data: '0x' }), /a settling wallet/)
  assert.equal(sent.length, 1)
})

const onBoth = eachEngine(startPostgres, accountsMigrations)
const DAY_UNIX = NOON_UNIX - 43_200

function newNode() {
  return {
    ...{ latest: 4, pending: 4, baseFee: 5_000_000n, nowMs: NOON_UNIX * 1_000 },
    ...{ balance: 10n ** 18n, refusal: undefined as Error | undefined },
    raws: [] as `0x${string}`[],
    ...{ sending: 0, sendingMax: 0 },
  }
}

/** A wallet whose node takes what it is sent, unless a test says otherwise. */
function walletOn(engine: Engine, gasPerDayGwei = 1_000_000n, node = newNode()) {
  const ecosystem = { ...parseEcosystem('local', localEcosystem), payment: PAYMENT }
  const ctx = testContext({ accounts: engine, ecosystem, clock: () => node.nowMs })
  const rpc: Parameters<typeof openWallet>[1] = {
    gasPrice: async () => ({ baseFee: node.baseFee, tip: 1_000_000n }),
    balance: async () => node.balance,
    transactionCount: async (_, at) => node[at],
    async send(raw) {
      if (node.refusal !== undefined) throw node.refusal
      node.sending += 1
      node.sendingMax = Math.max(node.sendingMax, node.sending)
      await sleep(1)
      node.sending -= 1
      node.raws.push(raw)
    },
  }
  const wallet = openWallet(ctx, rpc, privateKeyToAccount(word(7)), gasPerDayGwei)
  return {
    node,
    send: (n: number) => wallet.send(word(n)),
    canPay: () => wallet.canPay(100_000n),
    sent: () => node.raws.map((raw) => parseTransaction(raw)),
    nonces: () => node.raws.map((raw) => parseTransaction(raw).nonce),
    gas: () => gasOfDay({ run: engine.read }, DAY_UNIX),
  }
}

onBoth('many transfers at once get a row of nonces', async ({ engine }) => {
  const { send, nonces } = walletOn(engine)
  await Promise.all(Array.from({ length: 20 }, (_, n) => send(n)))
  assert.deepEqual(
    nonces(),
    Array.from({ length: 20 }, (_, n) => n + 4),
  )
})

onBoth(
  'a nonce that nobody has sent for a minute is taken over, so that it blocks no later one',
  async ({ engine }) => {
    const { node, send, nonces } = walletOn(engine)
    // A leader before this one has sent nonce 4.
    Object.assign(node, { latest: 4, pending: 5 })
    await send(1)
    node.pending = 6
    node.nowMs += 59_000
    await send(2)
    node.pending = 7
    node.nowMs += 2_000
    await send(3)
    assert.deepEqual(nonces(), [5, 6, 4])
  },
)

onBoth(
  'a transaction that nodes have dropped leaves no gap, and is sent again with the next nonce',
  async ({ engine }) => {
    const { node, send, nonces } = walletOn(engine)
    await send(1)
    Object.assign(node, { latest: 5, pending: 5 })
    await send(2)
    // A reorg takes both back.
    Object.assign(node, { latest: 4, pending: 4 })
    node.nowMs += 2_000
    await send(3)
    Object.assign(node, { latest: 5, pending: 5 })
    await send(2)
    await send(1)
    assert.deepEqual(nonces(), [4, 5, 4, 5, 6])
    // Those before it were dropped once more.
    Object.assign(node, { latest: 4, pending: 4 })
    node.nowMs += 2_000
    await send(1)
    assert.equal(nonces().at(-1), 4)
  },
)

onBoth(
  "nothing is sent over the day's gas, counted as the most that transactions may cost",
  async ({ engine }) => {
    // 200,000 gas at 0.011 gwei are 2,200 gwei.
    const { send, nonces, gas } = walletOn(engine, 4_400n)
    await send(1)
    await send(2)
    await assert.rejects(send(3), /gas is used up/)
    assert.equal(await gas(), 4_400n)
    assert.deepEqual(nonces(), [4, 5])
  },
)

onBoth('a refused transfer leaves no gap; a lost answer takes its nonce', async ({ engine }) => {
  const { node, send, nonces } = walletOn(engine)
  node.refusal = new NodeRefusal(-32_000, 'insufficient funds for gas')
  await assert.rejects(send(1), /insufficient funds/)
  node.refusal = new Error('the connection is lost')
  assert.match(await send(2), /^0x[0-9a-f]{64}$/)
  node.refusal = undefined
  await send(3)
  assert.deepEqual(nonces(), [5])
})

onBoth(
  'a refusal that proves nothing keeps the nonce taken: another node may have the transaction',
  async ({ engine }) => {
    const { node, send, gas } = walletOn(engine, 6_600n)
    const lost = { cause: new Error('the first node does not answer') }
    for (const [n, refusal] of [
      new NodeRefusal(-32_000, 'nonce too low'),
      new NodeRefusal(-32_000, 'insufficient funds for gas', lost),
    ].entries()) {
      node.refusal = refusal
      assert.match(await send(n), /^0x[0-9a-f]{64}$/)
      assert.equal(await gas(), 2_200n * BigInt(n + 1))
    }
    node.refusal = undefined
    await send(3)
    await assert.rejects(send(4), /gas is used up/)
  },
)

onBoth('no gas price over 100 gwei is signed, whatever a node says', async ({ engine }) => {
  const { node, send, gas } = walletOn(engine)
  node.baseFee = 60_000_000_000n
  await assert.rejects(send(1), /limit of 100 gwei/)
  assert.equal(await gas(), 0n)
})

onBoth('no offer is shown while gas would eat over a tenth of the smallest', async ({ engine }) => {
  const { node, canPay } = walletOn(engine)
  assert.equal(await canPay(), true)
  // 103,000 gas at 0.02 gwei are 0.0103 USD of 0.10 USD.
  node.baseFee = 19_000_000n
  assert.equal(await canPay(), false)
  node.baseFee = 18_000_000n
  assert.equal(await canPay(), true)
})

onBoth(
  "no offer is shown without ether for one transfer, or without the day's gas",
  async (store) => {
    const { node, canPay, send } = walletOn(store.engine, 4_400n)
    // 200,000 gas at 0.011 gwei.
    node.balance = 2_199_999_999_999n
    assert.equal(await canPay(), false)
    node.balance += 1n
    assert.equal(await canPay(), true)
    await send(1)
    await send(2)
    assert.equal(await canPay(), false)
    node.nowMs += 86_400_000
    assert.equal(await canPay(), true)
  },
)

onBoth('a transfer that another process has just sent is not replaced', async ({ engine }) => {
  const { node, send, nonces } = walletOn(engine)
  await send(1)
  Object.assign(node, { latest: 5, pending: 5 })
  await send(2)
  node.nowMs += 3_600_000
  // The other one has sent nonce 6.
  Object.assign(node, { latest: 6, pending: 7 })
  await send(3)
  assert.deepEqual(nonces(), [4, 5, 7])
})

onBoth('wallets of two processes send one after the other', async (store) => {
  // An embedded store belongs to one process.
  if (store.engine.dialect === 'sqlite') return
  const first = walletOn(store.engine)
  const second = walletOn(store.replica(), 1_000_000n, first.node)
  await Promise.all(Array.from({ length: 6 }, (_, n) => (n % 2 ? first : second).send(n)))
  assert.equal(first.node.sendingMax, 1)
  assert.equal(first.node.raws.length, 6)
})
