import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { showAddress } from '#domain/address.ts'
import { toStored } from '#lib/stored-integer.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { grave, holder, operator } from '#test/local-addresses.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { proveHolders } from './prove-holders.ts'

/** Mints in block 2, moves in block 5, mints in block 20; mints and burns in blocks that are not final. */
const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, operator, 1_000n)] })
  .addEmpty(2)
  .add({ logs: [logOf.transfer(grave, operator, holder, 300n)] })
  .addEmpty(14)
  .add({ logs: [logOf.mint(grave, holder, 70n)] })
  .addEmpty(135)
  .add({ logs: [logOf.mint(grave, operator, 9n)] })
  .add({ logs: [logOf.burn(grave, holder, 4n)] })
  .addEmpty(3)

interface Proven {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly source: ChainSource
  readonly nodes: readonly ServedChain[]
  prove(): ReturnType<typeof proveHolders>
}

/** Indexes the chain through the nodes, then proves it. */
async function onProven(
  count: number,
  prepare: (nodes: readonly ServedChain[]) => void,
  work: (proven: Proven) => Promise<void>,
): Promise<void> {
  const nodes: ServedChain[] = []
  for (let index = 0; index < count; index += 1) nodes.push(await serveChain(chain))
  try {
    prepare(nodes)
    const local = localEcosystemAt({})
    const base = local.chains.find((each) => each.name === 'base')
    assert.ok(base !== undefined)
    const followed = { ...base, rpcUrls: nodes.map((node) => node.url) }
    const ecosystem = { ...local, chains: [followed] }
    await onSqlite(registerMigrations, async ({ engine }) => {
      const source = openSource(followed)
      const deps = await commitDepsOf(engine, ecosystem)
      const index = new ChainIndex({ ...deps, source }, followed)
      while ((await index.followOnce()).kind !== 'idle' || !index.isComplete)
        await index.readOlder()
      const prove = () =>
        proveHolders({ ecosystem, register: engine, sourceOf: () => source }, followed.id)
      await work({ register: engine, ecosystem, source, nodes, prove })
    })
  } finally {
    for (const node of nodes) await node.stop()
  }
}

const nothing = () => undefined

const silently = { token: grave, owner: holder, fromBlock: 31 }

test('a register that is right equals the token contracts at a final block', () =>
  onProven(1, nothing, async ({ prove }) => {
    const proof = await prove()
    assert.equal(proof?.verdict, 'agrees')
    assert.equal(proof?.blockNumber, chain.head.number - 8)
    assert.ok(proof.checked >= 4, `${proof.checked} figures`)
  }))

test('a seeded wrong balance is found and named', () =>
  onProven(1, nothing, async ({ register, prove }) => {
    // 305 at the proven block: four are burned since.
    const wrong = toStored(301n)
    await register.write((tx) =>
      tx.run(sql`update balances set balance = ${wrong} where address = ${holder}`),
    )
    const proof = await prove()
    assert.equal(proof?.verdict, 'differs')
    assert.match(proof?.detail ?? '', /GRAVE: balanceOf\((0x\w+)\) is 370, the register has 305/)
    assert.ok(proof?.detail?.includes(showAddress(holder)))
  }))

for (const [cause, faults] of [
  ['the only endpoint left out old logs', { prunedBelow: 15 }],
  ['a balance moves without an event', { unannounced: silently }],
] as const)
  test(`figures differ where ${cause}`, () =>
    onProven(
      1,
      ([only]) => Object.assign(only?.faults ?? {}, faults),
      async ({ prove }) => {
        assert.equal((await prove())?.verdict, 'differs')
      },
    ))

test('contracts that cannot be asked make a proof neither right nor wrong', () =>
  onProven(1, nothing, async ({ nodes, prove }) => {
    const [only] = nodes
    assert.ok(only !== undefined)
    only.faults.transport = { kind: 'html', times: 1_000 }
    assert.equal((await prove())?.verdict, 'unproven')
  }))
