import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eitherEngine } from '../long-version.ts'
import { newVisitor, signPayment } from './raw-payment.ts'
import { sharedWorld } from './shared-world.ts'
import { newPayer, readMetrics } from './x402-world.ts'

const PATH = '/api/burns/total'

for (const engine of eitherEngine)
  test(`${engine}: the metrics show what became of payments, the gas of the day below its ceiling, and the wallet`, async () => {
    const world = sharedWorld(engine)
    const before = await readMetrics(world)
    assert.equal(before.get('payments settled'), 0)
    assert.equal(before.get('gas_gwei used'), 0)
    assert.equal(before.get('gas_gwei ceiling'), 40_000_000)
    assert.equal(before.get('offers_shown now'), 1)
    const visitor = await newVisitor(world)
    const { header } = await signPayment(await newPayer(world.base, 5_000_000n))
    assert.equal((await visitor.get(PATH, header)).status, 200)
    assert.equal((await visitor.get(PATH, header)).status, 409)
    const other = await newVisitor(world)
    const poor = await signPayment(await newPayer(world.base, 0n))
    assert.equal((await other.get(PATH, poor.header)).status, 402)
    assert.equal((await other.get(PATH, 'e30=')).status, 402)
    const after = await readMetrics(world)
    assert.equal(after.get('payments settled'), 1)
    assert.equal(after.get('payments used'), 1)
    assert.equal(after.get('payments rejected'), 2)
    assert.equal(after.get('payments pending'), 0)
    const spent = (before.get('wallet_gwei balance') ?? 0) - (after.get('wallet_gwei balance') ?? 0)
    assert.ok((after.get('gas_gwei used') ?? 0) > spent, 'counted as the most that it may cost')
  })
