import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { runTruth } from './run-truth.ts'

const CALLS = 1_200
const preload = join(import.meta.dirname, 'broken-meter.ts')

const faults = {
  'forgets-units': 'the free calls that were counted are those that were answered',
  'forgets-debits': 'money left a wallet for its paid calls and for nothing else',
  'admits-too-many': 'more free calls than the quota',
} as const

const devnet = await startOwnDevnet()
after(() => devnet.stop())

for (const [fault, rule] of Object.entries(faults))
  test(`the checker notices a meter that ${fault.replaceAll('-', ' ')}`, async () => {
    const { violations } = await runTruth({
      calls: CALLS,
      replicas: 1,
      databaseUrl: undefined,
      devnet,
      seed: '1',
      audit: false,
      api: { nodeFlags: ['--import', preload], environment: { METER_FAULT: fault } },
      onProgress: () => undefined,
    })
    assert.ok(
      violations.some((line) => line.startsWith(rule)),
      `it noticed only: ${violations.join('\n')}`,
    )
  })
