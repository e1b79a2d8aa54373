import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { eachEngine } from '#ledger/each-engine.ts'
import { sleep } from '#lib/sleep.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { startPostgres } from '#test/postgres.ts'
import { accessChecks } from '../access-checks.ts'
import { type AdmissionReceipt, MeteringUnavailable } from './admission.ts'
import { createMeter } from './meter.ts'
import { anonymous, assertSound, fund, MIGRATIONS, NOON, PRICE } from './meter-harness.ts'
import { RefundJournal } from './refund-journal.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)
const CALLER = anonymous('192.0.2.1')
const PAYER = anonymous('192.0.2.2', 0)

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-journal-'))
  folders.push(folder)
  return folder
}

const journals = (folder: string) => readdirSync(folder).filter((each) => /journal/.test(each))

let processes = 0
/** A process that counts calls: a store that can be taken down, and a journal. */
function startProcess(engine: Engine, folder: string, pricePerCall = PRICE) {
  processes += 1
  const name = `process ${processes}`
  const reports: unknown[] = []
  const report = (error: unknown) => void reports.push(error)
  const store = { isDown: false, losesAnswer: false, answers: Promise.resolve() }
  const meet = async <T>(write: () => Promise<T>): Promise<T> => {
    await store.answers
    if (store.isDown) throw new StoreError('the store is down')
    const done = await write()
    if (!store.losesAnswer) return done
    store.isDown = true
    throw new StoreError('the connection is lost at the commit')
  }
  const mortal: Engine = {
    ...engine,
    write: (work, onCommitted) => meet(() => engine.write(work, onCommitted)),
  }
  const journal = new RefundJournal({ folder, name, pricePerCall, report })
  const clock = () => NOON * 1_000
  const meter = createMeter({ engine: mortal, clock, pricePerCall, name, report, journal })
  return { meter, store, reports }
}
type Process = ReturnType<typeof startProcess>

async function receiptOf({ meter }: Process, caller = CALLER): Promise<AdmissionReceipt> {
  const admission = await meter.admit(caller)
  assert.ok(admission.kind === 'admitted')
  return admission.receipt
}

/** Waits for background work of a meter and its journal. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 400 && !(await isSo()); turn += 1) await sleep(25)
  assert.ok(await isSo())
}

const untilCounted = ({ meter }: Process, count: number, caller = CALLER) =>
  until(async () => (await meter.figures(caller)).requestCount === count)

async function assertAllSound(engine: Engine): Promise<void> {
  await assertSound(engine)
  for (const check of accessChecks)
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

onBoth(
  'a refund that waits for the store is made once by the next process with the same folder',
  async ({ engine }) => {
    const folder = newFolder()
    const first = startProcess(engine, folder)
    await receiptOf(first)
    const receipt = await receiptOf(first)
    assert.deepEqual(journals(folder), [])
    first.store.isDown = true
    await assert.rejects(first.meter.refund(receipt), MeteringUnavailable)
    const [file = ''] = journals(folder)
    const lines = readFileSync(join(folder, file), 'utf8')
    const second = startProcess(engine, folder)
    await untilCounted(second, 1)
    await until(() => journals(folder).length === 0)
    writeFileSync(join(folder, file), lines)
    const third = startProcess(engine, folder)
    await until(() => journals(folder).length === 0)
    assert.equal((await third.meter.figures(CALLER)).requestCount, 1)
    await assertAllSound(engine)
  },
)

onBoth(
  'a call whose commit went unacknowledged is refunded once by the next process, whatever else was in the batch',
  async ({ engine }) => {
    const folder = newFolder()
    const first = startProcess(engine, folder)
    // Two units are left for three calls.
    for (let call = 0; call < 3; call += 1) await receiptOf(first)
    first.store.losesAnswer = true
    const lost = [1, 2, 3].map(() => first.meter.admit(CALLER))
    for (const each of lost) await assert.rejects(each, MeteringUnavailable)
    await untilCounted(startProcess(engine, folder), 3)
    await until(() => journals(folder).length === 0)
    await assertAllSound(engine)
  },
)

onBoth(
  'a paid call is refunded at the price it was charged, even by a process with another price',
  async ({ engine }) => {
    const folder = newFolder()
    await fund(engine, PAYER, 1_000n)
    const first = startProcess(engine, folder)
    const receipt = await receiptOf(first, PAYER)
    first.store.isDown = true
    await assert.rejects(first.meter.refund(receipt), MeteringUnavailable)
    const second = startProcess(engine, folder, 2n * PRICE)
    await untilCounted(second, 0, PAYER)
    assert.equal((await second.meter.figures(PAYER)).prepaidBalance, 1_000n)
    await assertAllSound(engine)
  },
)

onBoth('a line torn by a kill is skipped and hides no other line', async ({ engine }) => {
  const folder = newFolder()
  const first = startProcess(engine, folder)
  const receipts = [await receiptOf(first), await receiptOf(first), await receiptOf(first)]
  first.store.isDown = true
  const [whole, torn, later] = receipts
  assert.ok(whole !== undefined && torn !== undefined && later !== undefined)
  await assert.rejects(first.meter.refund(whole), MeteringUnavailable)
  const [name = ''] = journals(folder)
  const file = join(folder, name)
  const line = JSON.stringify({ price: String(PRICE), receipt: torn })
  writeFileSync(file, readFileSync(file, 'utf8') + line.slice(0, -20))
  await assert.rejects(first.meter.refund(later), MeteringUnavailable)
  const second = startProcess(engine, folder)
  await untilCounted(second, 1)
  await until(() => journals(folder).length === 0)
  assert.deepEqual(second.reports, [])
  await assertAllSound(engine)
})

onBoth(
  'a journal that cannot be written is reported once and fails no request; the refund is made once the store answers',
  async ({ engine }) => {
    const folder = join(newFolder(), 'file')
    writeFileSync(folder, '')
    const { meter, store, reports } = startProcess(engine, folder)
    const first = await meter.admit(CALLER)
    const second = await meter.admit(CALLER)
    assert.ok(first.kind === 'admitted' && second.kind === 'admitted')
    store.isDown = true
    await assert.rejects(meter.refund(first.receipt), MeteringUnavailable)
    await assert.rejects(meter.refund(second.receipt), MeteringUnavailable)
    assert.equal(reports.length, 1)
    assert.match(String(reports[0]), /cannot be written/)
    store.isDown = false
    await until(async () => (await meter.figures(CALLER)).requestCount === 0)
    assert.equal((await meter.admit(CALLER)).kind, 'admitted')
  },
)

onBoth('a refund is journalled while the store does not respond', async ({ engine }) => {
  const folder = newFolder()
  const { meter, store } = startProcess(engine, folder)
  const admission = await meter.admit(CALLER)
  assert.ok(admission.kind === 'admitted')
  const answer = Promise.withResolvers<void>()
  store.answers = answer.promise
  const refunding = meter.refund(admission.receipt)
  await until(() => journals(folder).length === 1)
  answer.resolve()
  await refunding
  await until(() => journals(folder).length === 0)
})

/** A store that the test takes offline and brings back. */
interface Outage {
  readonly store: string
  open(): Engine
  begin(): Promise<() => Promise<void>>
}

function lockedSqlite(): Outage {
  const store = join(newFolder(), 'accounts.sqlite')
  const open = () => openSqlite({ file: store, durability: 'full' })
  return {
    store,
    open,
    async begin() {
      const holder = open()
      const held = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      const holding = holder.write(async () => {
        begun.resolve()
        await held.promise
      })
      await begun.promise
      return async () => {
        held.resolve()
        await holding
        await holder.close()
      }
    },
  }
}

async function shutPostgres(): Promise<Outage> {
  const server = await startPostgres()
  after(() => server.stop())
  const store = await server.createDatabase()
  const database = new URL(store).pathname.slice(1)
  return {
    store,
    open: () => openPostgres({ url: store, schema: 'accounts' }),
    async begin() {
      const client = new Client({ connectionString: server.url })
      await client.connect()
      await client.query(`alter database ${database} allow_connections false`)
      await client.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${database}'`,
      )
      return async () => {
        await client.query(`alter database ${database} allow_connections true`)
        await client.end()
      }
    },
  }
}

for (const [engineName, prepare] of [
  ['SQLite', lockedSqlite],
  ['PostgreSQL', shutPostgres],
] as const)
  test(`${engineName}: a process killed while its store is down loses no refund: the next process makes it once`, async () => {
    const folder = newFolder()
    const outage = await prepare()
    const migrating = outage.open()
    await migrating.migrate(MIGRATIONS)
    await migrating.close()
    const child = fork(join(import.meta.dirname, 'refunding-harness.ts'), [outage.store, folder])
    after(() => child.kill('SIGKILL'))
    assert.equal((await once(child, 'message'))[0], 'admitted')
    const end = await outage.begin()
    child.send('refund')
    assert.equal((await once(child, 'message'))[0], 'refused')
    child.kill('SIGKILL')
    await once(child, 'exit')
    await end()
    const engine = outage.open()
    try {
      assert.equal(journals(folder).length, 1)
      await untilCounted(startProcess(engine, folder), 0)
      await until(() => journals(folder).length === 0)
      await assertAllSound(engine)
    } finally {
      await engine.close()
    }
  })
