import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sleep } from '#lib/sleep.ts'
import type { Engine } from '#store/engine.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
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
import { type Admission, type Meter, MeteringUnavailable } from './admission.ts'

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

/** Two batches: one is committed and waits for the disk, the other was decided behind it. */
async function twoBatches(world: World) {
  await fund(world.engine, PAYER, 1_000n)
  world.isFree = false
  const first = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
  while (world.syncs.length < 1) await sleep(1)
  const second = [world.meter.admit(FIRST), world.meter.admit(PAYER)]
  await sleep(20)
  return { first, second }
}

async function areTold(admissions: readonly Promise<Admission>[]): Promise<boolean> {
  const nobody = sleep(5).then(() => 'nobody')
  const settled = admissions.map((each) => each.catch(() => undefined))
  return (await Promise.race([nobody, ...settled])) !== 'nobody'
}

test('the next batch is decided while the last reaches the disk, and nobody is told before that', () =>
  inWorld(async (world) => {
    const { first, second } = await twoBatches(world)
    assert.equal(world.callsInFile(), 4)
    assert.ok(!(await areTold([...first, ...second])))
    world.syncs[0]?.resolve()
    assert.deepEqual(sources(await Promise.all(first)), ['quota', 'quota'])
    assert.ok(!(await areTold(second)))
    while (world.syncs.length < 2) await sleep(1)
    world.syncs[1]?.resolve()
    assert.deepEqual(sources(await Promise.all(second)), ['quota', 'prepaid'])
  }))

test('calls whose charge did not reach the disk are refused, those of the batch behind them too', () =>
  inWorld(async (world) => {
    const { first, second } = await twoBatches(world)
    world.syncs[0]?.reject(new Error('EIO'))
    for (const each of first) await assert.rejects(each, MeteringUnavailable)
    while (world.syncs.length < 2) await sleep(1)
    world.isFree = true
    world.syncs[1]?.resolve()
    for (const each of second) await assert.rejects(each, MeteringUnavailable)
  }))
