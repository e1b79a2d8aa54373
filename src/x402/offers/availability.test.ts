import assert from 'node:assert/strict'
import type { BlockHeader } from '#domain/chain.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { createAvailability } from './availability.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOON_MS = Date.UTC(2026, 10, 21, 12)
const DAY_UNIX = Date.UTC(2026, 10, 21) / 1000
const SETTLER = `0x${'55'.repeat(20)}` as const
const GWEI = 1_000_000_000n
const ETHER = 10n ** 18n

interface Chain {
  baseFee: bigint
  balance: bigint
  isDown: boolean
  provesNothing?: boolean
}

function availabilityOn(engine: Engine, chain: Chain, now = { ms: NOON_MS }) {
  const answer = async <T>(value: T): Promise<T> => {
    if (chain.isDown) throw new Error('no node answers')
    return value
  }
  return createAvailability({
    engine,
    clock: () => now.ms,
    rpc: {
      gasPrice: () => answer({ baseFee: chain.baseFee, tip: 1_000_000n }),
      balance: () => answer(chain.balance),
      header: () => answer(HEAD),
      provenBlock: async () => {
        if (chain.provesNothing) throw new Error('its receipts do not hash to its receiptsRoot')
        return { header: HEAD, logs: [] }
      },
    },
    proof: 'receipts',
    signer: { address: SETTLER },
    chainId: 8453,
    amounts: [100_000n, 1_000_000n],
    gasPerDayGwei: 1_000_000n,
    etherUsd: 5_000,
    report: () => undefined,
  })
}

const HEAD: BlockHeader = {
  ...{ number: 1, hash: `0x${'11'.repeat(32)}`, parentHash: `0x${'00'.repeat(32)}` },
  ...{ timestamp: 1, logsBloom: '0x' },
}

const calm: Chain = { baseFee: 5_000_000n, balance: ETHER, isDown: false }

onBoth('an offer is shown at usual prices of gas', async ({ engine }) => {
  assert.equal(await availabilityOn(engine, calm).isAvailable(), true)
})

onBoth('no offer is shown while the node cannot prove its blocks', async ({ engine }) => {
  const now = { ms: NOON_MS }
  const chain = { ...calm, provesNothing: true }
  const availability = availabilityOn(engine, chain, now)
  assert.equal(await availability.isAvailable(), false)
  chain.provesNothing = false
  now.ms += 5_000
  assert.equal(await availability.isAvailable(), true)
})

onBoth('no offer is shown while gas would eat over a tenth of the smallest', async ({ engine }) => {
  // 103,000 gas at 0.02 gwei are 0.0103 USD of 0.10 USD.
  const dear = { ...calm, baseFee: 19_000_000n }
  assert.equal(await availabilityOn(engine, dear).isAvailable(), false)
  const justBelow = { ...calm, baseFee: 18_000_000n }
  assert.equal(await availabilityOn(engine, justBelow).isAvailable(), true)
})

onBoth('no offer is shown while the settling wallet cannot pay for one transfer', async (store) => {
  const poor = { ...calm, balance: 1_759n * GWEI }
  assert.equal(await availabilityOn(store.engine, poor).isAvailable(), false)
  const enough = { ...calm, balance: 1_760n * GWEI }
  assert.equal(await availabilityOn(store.engine, enough).isAvailable(), true)
})

onBoth("no offer is shown once the day's gas is used up, until the next day", async (store) => {
  const { engine } = store
  await engine.write((tx) =>
    tx.run(sql`
      insert into x402_settlers (chain_id, settler, gas_day, gas_gwei)
      values (8453, ${SETTLER}, ${DAY_UNIX}, 999000)`),
  )
  assert.equal(await availabilityOn(engine, calm).isAvailable(), false)
  const tomorrow = { ms: NOON_MS + 86_400_000 }
  assert.equal(await availabilityOn(engine, calm, tomorrow).isAvailable(), true)
})

onBoth(
  'a node that is lost hides the offer, and its return shows it within seconds',
  async (store) => {
    const chain = { ...calm, isDown: true }
    const now = { ms: NOON_MS }
    const availability = availabilityOn(store.engine, chain, now)
    assert.equal(await availability.isAvailable(), false)
    chain.isDown = false
    assert.equal(await availability.isAvailable(), false)
    now.ms += 5_000
    assert.equal(await availability.isAvailable(), true)
  },
)
