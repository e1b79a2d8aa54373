import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'node:test'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { fromStored, sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { type BuiltChain, beginChain, type LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { holder, usdc } from '#test/local-addresses.ts'
import { type Lie, type LyingNode, startLyingNode } from '#test/lying-node.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { readDeposits, readUnproven, scanDeposits } from './deposits.ts'

const onEach = eachEngine(startPostgres, accountsMigrations)

const local = localEcosystemAt({})
const payTo = local.payment?.payTo[0]?.address ?? holder

const pay = (amount: bigint): LogPlan => logOf.transfer(usdc, holder, payTo, amount)

const genesis = beginChain(8453, 1_700_000_000, { isProvable: true }).addEmpty(2)

let chain: ServedChain
let node: LyingNode
beforeEach(async () => {
  chain = await serveChain(genesis, { finalDepth: 20 })
  node = await startLyingNode(chain.url)
})
afterEach(async () => {
  await node.stop()
  await chain.stop()
})

interface Scan {
  readonly ctx: Context
  readonly now: { ms: number }
  /** Lets the chain be this one and scans it, as often as a test says. */
  follow(to: BuiltChain, passes?: number): Promise<void>
  /** `amount block proven` of each. */
  deposits(): Promise<readonly string[]>
  unproven(): Promise<string | undefined>
}

function begin(
  accounts: Engine,
  change: (ecosystem: typeof local) => typeof local = (e) => e,
): Scan {
  const now = { ms: 1_700_000_000_000 }
  const ecosystem = change(localEcosystemAt({ base: node.url }))
  const ctx = testContext({ accounts, ecosystem, clock: () => now.ms })
  return {
    ctx,
    now,
    async follow(to, passes = 2) {
      chain.chain = to
      for (let pass = 0; pass < passes; pass += 1) {
        now.ms += 11_000
        await scanDeposits(ctx, new AbortController().signal)
      }
    },
    async deposits() {
      const rows = await accounts.read(sql`
        select amount, block_number, proven from deposits order by block_number, position_in_tx`)
      return rows.map((row) => `${fromStored(row.amount)} ${row.block_number} ${row.proven}`)
    },
    unproven: async () => (await readUnproven({ run: accounts.read }, 8453))?.reason,
  }
}

onEach('payments are found at the head and proven, each block once', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  await scan.follow(genesis.add({ logs: [pay(5n)] }, { logs: [pay(7n), pay(8n)] }))
  assert.deepEqual(await scan.deposits(), ['5 3 1', '7 4 1', '8 4 1'])
  const receipts = node.methods.filter((method) => method === 'eth_getBlockReceipts')
  assert.equal(receipts.length, 2)
})

onEach('history is read too, and the head does not wait for it', async ({ engine }) => {
  const scan = begin(engine)
  const old = genesis.add({ logs: [pay(5n)] }).addEmpty(200)
  await scan.follow(old.add({ logs: [pay(7n)] }))
  assert.deepEqual(await scan.deposits(), ['5 3 1', '7 204 1'])
})

onEach('what came while nobody scanned is found, the newest first', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  const away = genesis.add({ logs: [pay(5n)] }).addEmpty(200)
  await scan.follow(away.add({ logs: [pay(7n)] }))
  assert.deepEqual(await scan.deposits(), ['5 3 1', '7 204 1'])
})

onEach('a reorg takes payments with it, and finds what the new branch has', async ({ engine }) => {
  const scan = begin(engine)
  const paid = genesis.add({ logs: [pay(5n)] }, { logs: [pay(6n)] })
  await scan.follow(paid)
  await scan.follow(
    paid
      .fork(3)
      .addEmpty(1)
      .add({ logs: [pay(9n)] }),
  )
  assert.deepEqual(await scan.deposits(), ['5 3 1', '9 5 1'])
})

onEach('malformed and empty transfers are no deposits', async ({ engine }) => {
  const scan = begin(engine)
  const { topics, ...log } = pay(5n)
  const odd: readonly LogPlan[] = [
    pay(0n),
    { ...log, topics: [...topics, topics[1] ?? '0x'] },
    { ...log, topics, data: '0x' },
    { ...log, topics: [topics[0] ?? '0x', `0x${'ff'.repeat(32)}`, topics[2] ?? '0x'] },
  ]
  await scan.follow(genesis.add({ logs: [...odd, pay(3n)] }))
  assert.deepEqual(await scan.deposits(), ['3 3 1'])
})

/** Adds one unit to every payment to us in lists of logs. */
const raiseDeposits: Lie = ({ method }, result) => {
  if (method !== 'eth_getLogs' || !Array.isArray(result)) return result
  return result.map((log: { readonly data: string }) => ({
    ...log,
    data: `0x${(BigInt(log.data) + 1n).toString(16).padStart(64, '0')}`,
  }))
}

onEach('a proof replaces what a node made up', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  node.lie = raiseDeposits
  await scan.follow(genesis.add({ logs: [pay(5n)] }))
  assert.deepEqual(await scan.deposits(), ['5 3 1'])
})

onEach('a payment that a node leaves out at the head is found once final', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  node.lie = ({ method }, result) => (method === 'eth_getLogs' ? [] : result)
  const paid = genesis.add({ logs: [pay(5n)] })
  await scan.follow(paid)
  assert.deepEqual(await scan.deposits(), [])
  node.lie = undefined
  await scan.follow(paid.addEmpty(90))
  assert.deepEqual(await scan.deposits(), ['5 3 1'])
})

/** One answer about block 3 comes from a node on another branch. */
const strayOnce = (hash = `0x${'cd'.repeat(32)}`): Lie => {
  let times = 1
  return ({ method, params }, result) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== '0x3' || times <= 0) return result
    times -= 1
    return { ...(result as object), hash }
  }
}

onEach('a payment stays through one wrong answer about its block', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  const paid = genesis.add({ logs: [pay(5n)] }).addEmpty(1)
  node.lie = strayOnce()
  await scan.follow(paid, 1)
  assert.deepEqual(await scan.deposits(), ['5 3 0'])
  assert.match((await scan.unproven()) ?? '', /block 3 is 0xcdcd\w+, not 0x/)
  node.lie = strayOnce()
  await scan.follow(paid.addEmpty(90), 4)
  assert.deepEqual(await scan.deposits(), ['5 3 1'])
})

onEach('a payment of a branch that was missed goes once its block is final', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  const paid = genesis.add({ logs: [pay(5n)] })
  await scan.follow(paid)
  // The scan is told that block 3 is still the one it knows.
  node.lie = strayOnce(paid.at(3).hash)
  const other = paid.fork(2).addEmpty(2)
  await scan.follow(other, 1)
  node.lie = undefined
  await scan.follow(other.addEmpty(100), 4)
  assert.deepEqual(await scan.deposits(), [])
})

onEach('a scan goes on after a node called a block final that was not', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  const paid = genesis.add({ logs: [pay(5n)] }, {})
  node.lie = ({ method, params }, result) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized'
      ? { ...(result as object), number: '0x4' }
      : result
  await scan.follow(paid)
  node.lie = undefined
  await scan.follow(paid.fork(3).addEmpty(3), 3)
  assert.deepEqual(await scan.deposits(), ['5 3 1'])
})

onEach(
  'an edit of payTo reads everything again, and counts only what is listed',
  async ({ engine }) => {
    const other = `0x${'77'.repeat(20)}` as const
    const both = genesis.add({ logs: [pay(5n), logOf.transfer(usdc, holder, other, 6n)] })
    await begin(engine).follow(both)
    const edited = begin(engine, ({ payment, ...rest }) => ({
      ...rest,
      payment: payment && { ...payment, payTo: [{ address: other, since: '2026-01-01' }] },
    }))
    await edited.follow(both)
    assert.deepEqual(await edited.deposits(), ['6 3 1'])
    const payment = requirePayment(edited.ctx)
    const known = await engine.snapshot((reads) => readDeposits(reads, payment, []))
    assert.equal(known?.head.number, both.head.number)
  },
)

onEach('blocks that cannot be proven do not hold up others', async ({ engine }) => {
  const scan = begin(engine)
  await scan.follow(genesis)
  const unprovable = Array.from({ length: 40 }, (_, n) => ({ logs: [pay(BigInt(n + 1))] }))
  node.lie = ({ method, params }, result) => {
    const isOld = method === 'eth_getBlockReceipts' && !JSON.stringify(params).includes(last)
    return isOld || method === 'eth_getTransactionReceipt' ? null : result
  }
  const paid = genesis.add(...unprovable).add({ logs: [pay(1_000n)] })
  const last = paid.head.hash
  await scan.follow(paid, 1)
  assert.ok((await scan.deposits()).includes('1000 43 1'))
  node.lie = undefined
  await scan.follow(paid, 4)
  assert.ok((await scan.deposits()).every((each) => each.endsWith(' 1')))
})
