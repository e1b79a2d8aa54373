import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { advanceAll, commitDepsOf, differenceOf, stepIndex } from '#test/stepped-index.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const { distributor, ethUsdFeed, weth } = addresses.base
const genesisUnix = 1_700_000_000
const ether = 10n ** 18n

/** Base: ETH at 1000 USD after 10 s, at 2000 after 20 s, and at 3000 in another block of that second. */
const prices = beginChain(8453, genesisUnix)
  .add({ secondsApart: 10, logs: [logOf.answer(ethUsdFeed, 1_000n * 10n ** 8n, 1n)] })
  .add({ secondsApart: 10, logs: [logOf.answer(ethUsdFeed, 2_000n * 10n ** 8n, 2n)] })
  .add({ secondsApart: 0, logs: [logOf.answer(ethUsdFeed, 3_000n * 10n ** 8n, 3n)] })
  .addEmpty(1, 10)

/** Ethereum: a claim of one wrapped ether at 5, 10, 19, 20 and 31 seconds. */
const claims = beginChain(1, genesisUnix).add(
  ...[5, 5, 9, 1, 11].map((secondsApart) => ({
    secondsApart,
    logs: [logOf.claim(distributor, accounts.holder, addresses.ethereum.weth, ether)],
  })),
)
const FINAL_DEPTH = 8
const base = await serveChain(prices, { finalDepth: FINAL_DEPTH })
const ethereum = await serveChain(claims)
const ecosystem = localEcosystemAt({ base: base.url, ethereum: ethereum.url })
after(async () => {
  await base.stop()
  await ethereum.stop()
})

async function dollarsOf(register: Engine): Promise<(bigint | null)[]> {
  const rows = await register.read(sql`
    select usd from events where dataset = 'dividends' order by timestamp_unix`)
  return rows.map((row) => {
    const usd = column.bigintOrNull(row, 'usd')
    return usd === null ? null : usd / 1_000_000n
  })
}

/** Followed by as many blocks as it takes until the last one is final. */
const final = (chain: typeof prices) => chain.addEmpty(FINAL_DEPTH, 0)

test('an event has the price that another chain had before its second, whichever chain was read first', () =>
  onSqlite(registerMigrations, ({ engine: first }) =>
    onSqlite(registerMigrations, async ({ engine: second }) => {
      assert.notEqual(weth, addresses.ethereum.weth)
      base.chain = final(prices)
      const forwards = stepIndex(await commitDepsOf(first, ecosystem))
      const backwards = stepIndex(await commitDepsOf(second, ecosystem))
      await advanceAll(forwards, ecosystem.chains)
      await advanceAll(backwards, ecosystem.chains.toReversed())
      assert.deepEqual(await dollarsOf(first), [null, null, 1_000n, 1_000n, null])
      assert.equal(await differenceOf(first, second), undefined)
    }),
  ))

test('an event waits without a value until the chain of its price is final up to its moment', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const index = stepIndex(await commitDepsOf(engine, ecosystem))
    base.chain = prices.addEmpty(1, 1)
    await advanceAll(index, ecosystem.chains)
    assert.equal((await dollarsOf(engine)).at(-1), null)
    base.chain = final(base.chain)
    await advanceAll(index, ecosystem.chains)
    assert.equal((await dollarsOf(engine)).at(-1), 3_000n)
  }))

test('a reorganisation of the chain of the price leaves no value of the branch that went', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const index = stepIndex(await commitDepsOf(engine, ecosystem))
    base.chain = prices.addEmpty(1, 1)
    await advanceAll(index, ecosystem.chains)
    const answer = logOf.answer(ethUsdFeed, 7_000n * 10n ** 8n, 4n)
    const fork = prices.fork(1).add({ secondsApart: 10, logs: [answer] })
    base.chain = final(fork.addEmpty(3, 10))
    await advanceAll(index, ecosystem.chains)
    assert.deepEqual(await dollarsOf(engine), [null, null, 1_000n, 1_000n, 7_000n])
  }))
