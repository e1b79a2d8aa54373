import assert from 'node:assert/strict'
import { ledgerChecks } from '#accounts/ledger/check.ts'
import { chainInAccount, post } from '#accounts/ledger/ledger.ts'
import {
  type Admission,
  type Meter,
  getMeter as meterOfContext,
  toAccount,
} from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { testContext } from '#test/test-context.ts'

export const NOON = startOfDay(1_795_000_000) + DAY_SECONDS / 2
export const PRICE = 100n
export { HARNESS_MIGRATIONS as MIGRATIONS } from './callers-harness.ts'

export const anonymous = (bucket: string, dailyQuota = 5): Caller => ({
  kind: 'anonymous',
  identity: `ip:${bucket}`,
  bucket,
  tier: 'anonymous',
  dailyQuota,
})

export const keyed = (publicId: string, dailyQuota = 5, wallet = 'aa'): Caller => ({
  kind: 'keyed',
  identity: `key:svc_${publicId}`,
  bucket: `wallet:0x${wallet.repeat(20)}`,
  tier: dailyQuota > 5 ? 'premium' : 'free',
  dailyQuota,
  publicId,
  wallet: `0x${wallet.repeat(20)}`,
})

export function meterOf(engine: Engine, nowUnix = { value: NOON }): Meter {
  return meterOfContext(testContext({ accounts: engine, clock: () => nowUnix.value * 1000 }))
}

let entries = 0
export async function fund(engine: Engine, caller: Caller, microUsd: bigint): Promise<void> {
  entries += 1
  const id = `fund:${entries}`
  const postings = [
    { account: chainInAccount(8453), microUsd: -microUsd },
    { account: toAccount(caller), microUsd },
  ]
  await engine.write((tx) =>
    post(tx, { id, kind: 'credit', reference: id, createdUnix: NOON, postings }),
  )
}

export const many = (
  n: number,
  meterAt: (index: number) => Meter,
  callerAt: (index: number) => Caller,
) => Promise.all(Array.from({ length: n }, (_, index) => meterAt(index).admit(callerAt(index))))

export const sources = (admissions: readonly Admission[]) =>
  admissions.map((each) => (each.kind === 'admitted' ? each.source : each.kind))

export const count = (admissions: readonly Admission[], source: string) =>
  sources(admissions).filter((each) => each === source).length

export async function assertSound(engine: Engine): Promise<void> {
  for (const check of ledgerChecks)
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}
