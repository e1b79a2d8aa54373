import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { readIndexStatus } from '#chains/indexer/status.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { holder, usdc } from '#test/local-addresses.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { provePayments } from './prove-payments.ts'

const payTo = localEcosystemAt({}).payment?.payTo[0]?.address ?? holder

/** The operator is paid twice and sends a part away, all in final blocks. */
const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(usdc, holder, 9_000_000n)] })
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 5_000_000n)] })
  .addEmpty(2)
  .add({ logs: [logOf.transfer(usdc, holder, payTo, 20n)] })
  .add({ logs: [logOf.transfer(usdc, payTo, holder, 3_000_000n)] })
  .addEmpty(60)

interface Proven {
  readonly register: Engine
  readonly node: ServedChain
  readonly notes: string[]
  prove(): Promise<string | undefined>
}

async function onProven(work: (proven: Proven) => Promise<void>): Promise<void> {
  const node = await serveChain(chain)
  try {
    const local = localEcosystemAt({})
    const base = local.chains.find((each) => each.name === 'base')
    assert.ok(base !== undefined && local.payment !== null)
    const followed = { ...base, rpcUrls: [node.url] }
    const payment = { ...local.payment, chain: followed }
    const ecosystem = { ...local, chains: [followed], payment }
    await onSqlite(registerMigrations, async ({ engine }) => {
      const source = openSource(followed)
      const deps = await commitDepsOf(engine, ecosystem)
      const index = new ChainIndex({ ...deps, source }, followed)
      while ((await index.followOnce()).kind !== 'idle');
      const notes: string[] = []
      const prove = () =>
        engine.snapshot(async (connection) => {
          const status = await readIndexStatus(connection, ecosystem.chains)
          assert.ok(status !== undefined)
          const prover = {
            ecosystem,
            sourceOf: () => source,
            note: (line: string) => void notes.push(line),
          }
          return provePayments(prover, { connection, dialect: engine.dialect }, status)
        })
      await work({ register: engine, node, notes, prove })
    })
  } finally {
    await node.stop()
  }
}

test('deposits less what was sent are what payTo holds', async () => {
  await onProven(async ({ prove, notes }) => {
    assert.equal(await prove(), undefined)
    assert.deepEqual(notes, ['USDC on base: deposits of 5.00002 explain what payTo holds'])
  })
})

test('a deposit that the index lacks is noticed by the balance', async () => {
  await onProven(async ({ prove, register }) => {
    await register.write((tx) => tx.run(sql`delete from deposits where block_number > 4`))
    assert.match(
      (await prove()) ?? '',
      /payTo holds 2\.00002, but 0 and deposits of 5 less 3 sent are 2$/,
    )
  })
})

test('money that came without a transfer is noticed', async () => {
  await onProven(async ({ prove, node }) => {
    node.faults.unannounced = { token: usdc, owner: payTo, fromBlock: 0 }
    assert.match((await prove()) ?? '', /payTo holds 2\.000021/)
  })
})
