import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { DAY_SECONDS } from '#base/time.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { advanceAll, commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import { registerMigrations } from './datasets.ts'
import { seriesDays } from './parameters.ts'

const folder = mkdtempSync(join(tmpdir(), 'sexton-parameters-'))
const { grave } = addresses.base
const burns = Array.from({ length: 25 }, (_, index) =>
  logOf.burn(grave, accounts.operator, BigInt(index + 1)),
)
const base = await serveChain(
  beginChain(8453, 1_700_000_000)
    .add({ logs: [logOf.mint(grave, accounts.operator, 1_000n)] })
    // Several burns of one second, so that only the last sort key tells them apart.
    .add({ logs: burns.slice(0, 10) })
    .add({ secondsApart: 0, logs: burns.slice(10) }),
)
const ethereum = await serveChain(beginChain(1, 1_700_000_000).addEmpty(1))
const ecosystem = localEcosystemAt({ base: base.url, ethereum: ethereum.url })
const register = openSqlite({ file: join(folder, 'register.sqlite'), durability: 'normal' })
await register.migrate(registerMigrations)
await advanceAll(stepIndex(await commitDepsOf(register, ecosystem)), ecosystem.chains)
const routes = dataRoutesOf({ register, ecosystem })
after(async () => {
  await register.close()
  await base.stop()
  await ethereum.stop()
  rmSync(folder, { recursive: true })
})

test('a chain goes by name, id and CAIP-2, a token by symbol and address, in any case', async () => {
  const plain = await readRoute(routes, '/api/burns?chain=base&token=GRAVE')
  for (const chain of ['BASE', '8453', 'eip155:8453', 'EIP155:8453'])
    for (const token of ['grave', grave, grave.toLowerCase()]) {
      const { data } = await readRoute(routes, `/api/burns?chain=${chain}&token=${token}`)
      assert.deepEqual(data, plain.data)
    }
})

interface Paged {
  readonly data: readonly { readonly id: string }[]
  readonly meta: { readonly page: { readonly nextCursor: string | null } }
}

test('pages hold every row once and in order, whatever their size', async () => {
  const all = (await readRoute(routes, '/api/burns/recent?limit=100')) as Paged
  assert.equal(all.data.length, 25)
  for (const limit of [1, 3, 7, 24, 25]) {
    const seen: string[] = []
    let path: string | undefined = `/api/burns/recent?limit=${limit}`
    while (path !== undefined) {
      const page = (await readRoute(routes, path)) as Paged
      seen.push(...page.data.map((row) => row.id))
      const { nextCursor } = page.meta.page
      path =
        nextCursor === null ? undefined : `/api/burns/recent?limit=${limit}&cursor=${nextCursor}`
    }
    assert.deepEqual(
      seen,
      all.data.map((row) => row.id),
    )
  }
})

test('a cursor is refused when the filters changed or when it is garbage', async () => {
  const { meta } = (await readRoute(routes, '/api/burns/recent?limit=2')) as Paged
  const cursor = meta.page.nextCursor ?? ''
  const paths = [
    `/api/burns/recent?cursor=${cursor}&chain=base`,
    `/api/burns/recent?cursor=${cursor}&token=CRYPT`,
    `/api/grave-digs?cursor=${cursor}`,
    `/api/burns/recent?cursor=x${cursor}`,
    '/api/burns/recent?cursor=AAAA',
    `/api/burns/recent?cursor=${'A'.repeat(5_000)}`,
  ]
  for (const path of paths)
    assert.equal((await refusalOf(routes, path)).code, 'invalid_cursor', path)
})

test('a list of one wallet has its events only, and a cursor of it goes on with that wallet', async () => {
  const { operator, holder } = accounts
  const own = `/api/burns/recent?address=${operator.toLowerCase()}&limit=20`
  const first = (await readRoute(routes, own)) as Paged
  const rest = (await readRoute(routes, `${own}&cursor=${first.meta.page.nextCursor}`)) as Paged
  assert.deepEqual([first.data.length, rest.data.length], [20, 5])
  const none = (await readRoute(routes, `/api/burns/recent?address=${holder}`)) as Paged
  assert.deepEqual(none.data, [])
  const other = `/api/burns/recent?address=${holder}&cursor=${first.meta.page.nextCursor}`
  assert.equal((await refusalOf(routes, other)).code, 'invalid_cursor')
  assert.equal((await refusalOf(routes, '/api/grave-digs?address=0x1')).code, 'invalid_address')
})

test('an unknown parameter is ignored and not shown', async () => {
  const { meta } = await readRoute(routes, '/api/burns?colour=black')
  assert.match(JSON.stringify(meta), /"query":{"period":"30d"/)
  assert.doesNotMatch(JSON.stringify(meta), /colour/)
})

test('a time is Unix seconds, a day or RFC 3339, with any offset and any part of a second', async () => {
  const from = async (raw: string) => {
    const { meta } = await readRoute(routes, `/api/burns/recent?limit=1&from=${raw}`)
    return (meta as { readonly query: { readonly from: number } }).query.from
  }
  for (const raw of [
    '1700000000',
    '2023-11-14T22:13:20Z',
    '2023-11-14T22:13:20.999999Z',
    '2023-11-14T22:13:20%2B00:00',
    '2023-11-14T22:13:20+00:00',
    '2023-11-14T23:43:20.5%2B01:30',
  ])
    assert.equal(await from(raw), 1_700_000_000, raw)
  assert.equal(await from('2023-11-14'), 1_699_920_000)
})

test('a period of n days is n days without gaps, oldest first, today last and not complete', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_650 }), fc.integer({ min: 0, max: 2e9 }), (n, asOf) => {
      const days = seriesDays(n, asOf, undefined)
      assert.equal(days.length, n)
      for (const [index, day] of days.entries()) {
        assert.equal(day.dateUnix - (days[0]?.dateUnix ?? 0), index * DAY_SECONDS)
        assert.equal(day.complete, index < n - 1)
      }
      const today = days.at(-1)?.dateUnix ?? 0
      assert.ok(today <= asOf && asOf < today + DAY_SECONDS)
    }),
  )
})

test('all days begin with the first that has data, and are today alone without any', () => {
  assert.equal(seriesDays('all', 10 * DAY_SECONDS + 5, 8 * DAY_SECONDS + 9).length, 3)
  assert.equal(seriesDays('all', 10 * DAY_SECONDS, undefined).length, 1)
})
