import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Admission, type Meter, MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { sleep } from '#base/async.ts'
import type { Engine } from '#db/engine.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import {
  anonymous,
  assertSound,
  fund,
  keyed,
  MIGRATIONS,
  meterOf,
  sources,
} from '#test/callers/meter-harness.ts'
import { type HeldDisk, heldDisk } from '#test/store/log-sync-harness.ts'

interface World extends HeldDisk {
  readonly engine: Engine
  readonly meter: Meter
  /** Calls as another process sees them, on the disk or not. */
  callsInFile(): number
}

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const file = join(folder, 'store.sqlite')
  const disk = heldDisk()
  disk.isFree = true
  const engine = openSqlite({ file, durability: 'full', sync: disk.sync })
  const callsInFile = () => {
    const database = new DatabaseSync(file, { readOnly: true })
    const row = database.prepare('select sum(used + paid) as calls from usage_days').get()
    database.close()
    return Number(row?.calls)
  }
  const world: World = Object.assign(disk, { engine, meter: meterOf(engine), callsInFile })
  try {
    await engine.migrate(MIGRATIONS)
    await work(world)
    await assertSound(engine)
  } finally {
    world.isFree = true
    for (const sync of world.syncs) sync.resolve()
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const FIRST = anonymous('192.0.2.1')
const PAYER = keyed('00000001', 1)

async function isAnswered(admissions: readonly Promise<Admission>[]): Promise<boolean> {
  const nobody = sleep(20).then(() => 'nobody')
  const settled = admissions.map((each) => each.catch(() => undefined))
  return (await Promise.race([nobody, ...settled])) !== 'nobody'
}

test('no call is answered before its batch is on the disk, and all that wait then form the next', () =>
  inWorld(async (world) => {
    await fund(world.engine, PAYER, 1_000n)
    world.isFree = false
    const first = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
    while (world.syncs.length < 1) await sleep(1)
    const second = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
    assert.ok(!(await isAnswered([...first, ...second])))
    assert.equal(world.callsInFile(), 2)
    world.syncs[0]?.resolve()
    assert.deepEqual(sources(await Promise.all(first)), ['quota', 'quota'])
    const third = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
    while (world.syncs.length < 2) await sleep(1)
    assert.equal(world.callsInFile(), 6)
    assert.ok(!(await isAnswered([...second, ...third])))
    world.isFree = true
    world.syncs[1]?.resolve()
    assert.deepEqual(sources(await Promise.all(second)), ['quota', 'prepaid'])
    assert.deepEqual(sources(await Promise.all(third)), ['quota', 'prepaid'])
  }))

test('calls whose charge did not reach the disk are refused, and those that waited are decided', () =>
  inWorld(async (world) => {
    world.isFree = false
    const first = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
    while (world.syncs.length < 1) await sleep(1)
    const second = world.meter.admit(FIRST)
    world.isFree = true
    world.syncs[0]?.reject(new Error('EIO'))
    for (const each of first) await assert.rejects(each, MeteringUnavailable)
    assert.deepEqual(sources([await second]), ['quota'])
  }))

test('at most 256 calls are decided ahead of the disk, and 20,000 wait in all', () =>
  inWorld(async (world) => {
    world.isFree = false
    const first = world.meter.admit(FIRST)
    while (world.syncs.length < 1) await sleep(1)
    const caller = anonymous('192.0.2.2', 100_000)
    const crowd = Array.from({ length: 19_999 }, () => world.meter.admit(caller))
    await assert.rejects(world.meter.admit(caller), MeteringUnavailable)
    world.syncs[0]?.resolve()
    await first
    while (world.syncs.length < 2) await sleep(1)
    assert.equal(world.callsInFile(), 1 + 256)
    world.isFree = true
    world.syncs[1]?.resolve()
    await Promise.all(crowd)
  }))
