import assert from 'node:assert/strict'
import type { BlockHeader } from '#domain/chain.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { PAYMENT } from '#test/x402/settling-harness.ts'
import { createPublisher } from './publish-readiness.ts'
import { createReadiness, READY_MS, readPublished } from './readiness.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const WALLET = `0x${'55'.repeat(20)}` as const

const HEAD: BlockHeader = {
  ...{ number: 1, hash: `0x${'11'.repeat(32)}`, parentHash: `0x${'00'.repeat(32)}` },
  ...{ timestamp: 1, logsBloom: '0x' },
}

onBoth(
  'payments are offered by every replica while the leader says so, and not after it fell silent',
  async (store) => {
    const now = { ms: 1_000_000 }
    const state = { isReady: true, provesNothing: true }
    const clock = () => now.ms
    const publish = createPublisher({
      ...{ engine: store.engine, clock },
      rpc: {
        header: async () => HEAD,
        provenBlock: async () => {
          if (state.provesNothing) throw new Error('its receipts do not hash to its receiptsRoot')
          return { header: HEAD, logs: [] }
        },
        call: async () => '0x',
      },
      payment: PAYMENT,
      facilitator: { wallet: WALLET, isReady: async () => state.isReady },
      report: () => undefined,
    })
    const { isReady } = createReadiness({ engine: store.replica(), clock })
    const seen = async () => {
      now.ms += 1_000
      return isReady()
    }
    assert.equal(await seen(), false)
    await publish()
    assert.equal(await seen(), false, 'deposits could not be proven')
    state.provesNothing = false
    await publish()
    assert.equal(await seen(), true)
    assert.equal((await readPublished({ run: store.engine.read }))?.wallet, WALLET)
    state.isReady = false
    await publish()
    assert.equal(await seen(), false)
    state.isReady = true
    await publish()
    assert.equal(await seen(), true)
    now.ms += READY_MS
    assert.equal(await seen(), false)
  },
)
