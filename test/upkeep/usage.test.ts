import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { lastDays, unixNow } from '#lib/time.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import { type Owners, readUsage } from '#operations/cli/usage-command.ts'
import { bearer, bodyOf } from '#test/callers/callers-harness.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { runCommand } from '#test/run-command.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sexton-usage-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

interface Charged {
  readonly requestCount: number
  readonly overageCount: number
  readonly spentUsd: number
}

interface History {
  readonly totals: Charged
  readonly history: readonly { readonly keys: readonly (Charged & { publicId: string })[] }[]
}

const DAYS = 3

/** Two wallets: one with a rotated and a second key, over two days, with paid calls. */
async function live(world: MoneyWorld): Promise<readonly HeldKey[]> {
  const key = await world.mint()
  const second = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  await world.call(key, 13)
  await world.call(second, 2)
  const rotated = await world.rotate(second)
  await world.wait(86_400)
  await world.call(key, 3)
  await world.call(rotated, 4)
  const other = await world.mint()
  await world.call(other, 1)
  await world.call(undefined, 2)
  return [key, other]
}

onBoth("usage by owner is what the owners' own histories say", async ({ engine }) => {
  const world = createMoneyWorld(engine)
  const keys = await live(world)
  const since = lastDays(
    unixNow(() => world.callers.now.ms),
    DAYS,
  )[0]
  assert.ok(since !== undefined)
  const read = (by: Owners) => engine.snapshot((reads) => readUsage(reads, { by, since }))
  const [wallets, ofKeys] = [await read('wallet'), await read('key')]
  assert.equal(wallets.length, 2)
  const told = { calls: 0 }
  for (const { secret, wallet } of keys) {
    const call = { ...bearer(secret), query: { days: String(DAYS) } }
    const history = bodyOf<History>(await world.callers.call('/api/usage/history', call))
    const own = wallets.find((each) => each.wallet === wallet.address)
    const { requestCount, overageCount, spentUsd } = history.totals
    assert.deepEqual(
      [own?.requestCount, own?.overageCount, own?.spentUsd],
      [requestCount, overageCount, String(spentUsd)],
    )
    for (const shown of ofKeys.filter((each) => each.wallet === wallet.address)) {
      const days = history.history.flatMap(({ keys }) =>
        keys.filter(({ publicId }) => publicId === shown.publicId),
      )
      const calls = days.map((day) => day.requestCount)
      told.calls += shown.requestCount
      assert.deepEqual(
        [shown.requestCount, shown.activeDays, shown.mostInADay],
        [calls.reduce((sum, each) => sum + each, 0), calls.length, Math.max(...calls)],
      )
    }
  }
  assert.equal(
    told.calls,
    wallets.reduce((sum, { requestCount }) => sum + requestCount, 0),
  )
  assert.deepEqual(
    ofKeys.map((each) => each.requestCount),
    ofKeys.map((each) => each.requestCount).sort((a, b) => b - a),
  )
})

test('usage is printed on stdout, as CSV with labels that no spreadsheet runs', async () => {
  const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
  await migrateStore(accounts, 'accounts')
  const world = createMoneyWorld(accounts)
  world.callers.now.ms = Date.now()
  const key = await world.mint()
  await world.call(key, 2)
  await world.callers.call('/api/keys/{publicId}/label', {
    path: { publicId: key.publicId },
    ...bearer(key.secret),
    body: { label: '=1+1' },
  })
  const run = (...flags: string[]) => runCommand(['usage', '--data', folder, ...flags])
  const csv = await run('--by', 'key', '--days', '1', '--csv')
  const [head, row] = csv.stdout.split('\n')
  assert.equal(
    head,
    'publicId,label,wallet,requestCount,overageCount,spentUsd,activeDays,mostInADay,lastDate',
  )
  assert.match(row ?? '', new RegExp(`^${key.publicId},'=1\\+1,${key.wallet.address},2,0,0,1,2,`))
  const words = await run()
  assert.match(words.stdout, new RegExp(`${key.wallet.address}  2 .*\n1 wallet called in 30 days`))
  for (const wrong of [
    ['--by', 'colour'],
    ['--days', '0'],
    ['--csv', '--json'],
  ])
    assert.equal((await run(...wrong)).code, 2)
  await accounts.close()
})
