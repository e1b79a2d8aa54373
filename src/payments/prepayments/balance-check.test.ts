import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { balanceCheck } from '#payments/money-checks.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { holder, usdc } from '#test/local-addresses.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { scanDeposits } from './deposits.ts'

const payTo = localEcosystemAt({}).payment?.payTo[0]?.address ?? holder

/** The operator is paid twice and sends a part away, all in final blocks. */
const chain = beginChain(8453, 1_700_000_000, { isProvable: true })
  .addEmpty(1)
  .add({ logs: [logOf.mint(usdc, holder, 9_000_000n)] })
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 5_000_000n)] })
  .addEmpty(2)
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 20n)] })
  .add({ logs: [logOf.transfer(usdc, payTo, holder, 3_000_000n)] })
  .addEmpty(60)

interface Checked {
  readonly accounts: Engine
  readonly node: ServedChain
  readonly notes: string[]
  check(): Promise<string | undefined>
}

async function onChecked(work: (checked: Checked) => Promise<void>): Promise<void> {
  const node = await serveChain(chain)
  try {
    const ecosystem = localEcosystemAt({ base: node.url })
    await onSqlite(accountsMigrations, async ({ engine: accounts }) => {
      const ctx = testContext({ accounts, ecosystem })
      await scanDeposits(ctx, new AbortController().signal)
      const notes: string[] = []
      const { run } = balanceCheck(ctx, (line) => void notes.push(line))
      const check = async () => (await accounts.snapshot(run))[0]?.detail
      await work({ accounts, node, notes, check })
    })
  } finally {
    await node.stop()
  }
}

test('deposits less what was sent are what payTo holds', () =>
  onChecked(async ({ check, notes }) => {
    assert.equal(await check(), undefined)
    assert.deepEqual(notes, ['USDC on base: deposits of 5.00002 explain what payTo holds'])
  }))

test('a deposit that the scan lacks is noticed by the balance', () =>
  onChecked(async ({ check, accounts }) => {
    await accounts.write((tx) => tx.run(sql`delete from deposits where block_number > 4`))
    assert.match(
      (await check()) ?? '',
      /payTo holds 2\.00002, but 0 and deposits of 5 less 3 sent are 2$/,
    )
  }))

test('money that came without a transfer is noticed', () =>
  onChecked(async ({ check, node }) => {
    node.faults.unannounced = { token: usdc, owner: payTo, fromBlock: 0 }
    assert.match((await check()) ?? '', /payTo holds 2\.000021/)
  }))
