import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRpcSource } from '#chain/rpc-source.ts'
import { registerMigrations } from '#data/datasets.ts'
import { fromStored, sql } from '#db/sql.ts'
import { type BuiltChain, beginChain } from '#test/chain-builder/built-chain.ts'
import type { WireForm } from '#test/chain-builder/faults.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { grave, holder } from '#test/local-addresses.ts'
import { isLongVersion } from '#test/long-version.ts'
import { differenceOf } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const wireForms: readonly WireForm[] = ['identity', 'gzip', 'chunked']
const caps = [10, 200, 2_000, 10_000] as const

/** Every cap with one form and every form with one cap; the long version tries all of them together. */
function capsWith(wireForm: WireForm): readonly number[] {
  return isLongVersion || wireForm === 'identity' ? caps : [2_000]
}

const BLOCKS = 2_400
const SECONDS_APART = 3_600

/** A chain with a mint every `every` blocks. */
function chainWithMints(every: number): BuiltChain {
  const plans = Array.from({ length: BLOCKS }, (_, block) => ({
    secondsApart: SECONDS_APART,
    logs: block % every === 1 ? [logOf.mint(grave, holder, BigInt(block))] : [],
  }))
  return beginChain(8453, 1_700_000_000)
    .add(...plans)
    .addEmpty(64)
}

function mintedEvery(every: number): bigint {
  let sum = 0n
  for (let block = 1; block < BLOCKS; block += every) sum += BigInt(block)
  return sum
}

/** Indexes the served chain up to its head into a register. */
async function readAll(
  node: ServedChain,
  register: Parameters<typeof startIndexer>[0]['register'],
) {
  const local = localEcosystemAt({ base: node.url })
  const ecosystem = { ...local, chains: local.chains.filter(({ name }) => name === 'base') }
  const indexer = startIndexer(
    { ecosystem, register },
    {
      sourceOf: ({ id, rpcUrls }) => openRpcSource({ chainId: id, urls: rpcUrls }),
    },
  )
  try {
    await indexer.caughtUp()
    assert.deepEqual(indexer.failures, [])
  } finally {
    await indexer.stop()
  }
}

for (const [density, every] of [
  ['dense', 2],
  ['sparse', 800],
] as const)
  test(`a ${density} history has the same figures with any block cap and encoding`, async (t) => {
    const node = await serveChain(chainWithMints(every))
    t.after(() => node.stop())
    await onSqlite(registerMigrations, async ({ engine: plain }) => {
      await readAll(node, plain)
      const [minted] = await plain.read(
        sql`select minted from supply_buckets where grain = 'total' and token = 'GRAVE'`,
      )
      assert.equal(fromStored(minted?.minted ?? null), mintedEvery(every))
      for (const wireForm of wireForms)
        for (const blocks of capsWith(wireForm))
          await t.test(`${wireForm}, at most ${blocks} blocks`, async () => {
            Object.assign(node.faults, { wireForm, rangeMax: { blocks, dialect: 'geth' } })
            await onSqlite(registerMigrations, async ({ engine }) => {
              await readAll(node, engine)
              assert.equal(await differenceOf(plain, engine), undefined)
            })
          })
    })
  })
