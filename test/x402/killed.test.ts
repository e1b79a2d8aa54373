import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '#base/async.ts'
import { column, sql } from '#db/sql.ts'
import { mine, mintUsdc } from '#devnet/actions.ts'
import { developmentWallets } from '#devnet/wallets.ts'
import { startAccountsWorld } from '../accounts/world/accounts-world.ts'
import { isLongVersion } from '../long-version.ts'
import { startPostgres } from '../postgres.ts'
import { eventually } from '../world.ts'
import { heldBy, payingFetch } from './x402-world.ts'

/** Of each process. */
const KILLS = isLongVersion ? 30 : 1
const WALLETS = isLongVersion ? 600 : 30
const PRICE = 100_000n
const WAIT_MS = 60_000

const postgres = await startPostgres()
after(() => postgres.stop())

const SETTINGS = [
  ['PostgreSQL', 2],
  ['SQLite', 1],
] as const

for (const [engine, processes] of isLongVersion ? SETTINGS : SETTINGS.slice(0, 1))
  test(`${engine}: killed again and again while stock clients pay, each payment is credited once or moved nothing`, async (t) => {
    const databaseUrl = engine === 'SQLite' ? undefined : await postgres.createDatabase()
    const quotas = { anonymous: 1, free: 1, premium: 1 }
    const world = await startAccountsWorld({ databaseUrl, quotas })
    t.after(() => world.stop())
    const base = world.devnet.chains.base.client
    const keyFile = join(world.folder, 'key')
    writeFileSync(keyFile, developmentWallets().relayer.privateKey)
    const wallets = Array.from({ length: WALLETS }, () => privateKeyToAccount(generatePrivateKey()))
    for (const { address } of wallets) await mintUsdc(base, { to: address, amount: PRICE })
    await world.mine(1)

    const urls = new Map<number, string>()
    const start = async (place: number) => {
      const environment = { SEXTON_SETTLING_KEY_FILE: keyFile }
      const service = await world.start('start', { environment })
      await service.ready()
      urls.set(place, service.url)
      return service
    }
    const ended = new AbortController()
    const mining = (async () => {
      for (; !ended.signal.aborted; await sleep(500, ended.signal)) await mine(base, { blocks: 1 })
    })()
    const left = [...wallets.entries()]
    const served = new Set<string>()
    const begun = new Set<string>()
    const callers = Array.from({ length: 6 }, async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const url = await eventually(
          async () => [...urls.values()].at(Math.random() * urls.size),
          WAIT_MS,
        )
        begun.add(url)
        if (await isServed(url, next).catch(() => false)) served.add(next[1].address.toLowerCase())
      }
    })
    const dying = Array.from({ length: processes }, async (_, place) => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const service = await start(place)
        // At any moment of a payment, which takes about a block.
        await eventually(async () => begun.has(service.url) || undefined, WAIT_MS)
        await sleep(1_500 * Math.random())
        urls.delete(place)
        await service.kill()
      }
      await start(place)
    })
    await Promise.all(dying)
    await eventually(async () => served.size > 0 || undefined, WAIT_MS)
    left.length = 0
    await Promise.all(callers)

    const accounts = await world.openAccounts()
    t.after(() => accounts.close())
    await eventually(async () => {
      const open = await accounts.read(sql`select id from x402_intents where status = 'open'`)
      return open.length === 0 || undefined
    }, WAIT_MS)
    const rows = await accounts.read(sql`
      select payer, count(credits.id) as live
      from x402_intents left join credits on payer_address = payer and reversed_unix is null
      group by payer`)
    const live = new Map(
      rows.map((row) => [column.text(row, 'payer'), column.integer(row, 'live')]),
    )
    for (const { address } of wallets) {
      const payer = address.toLowerCase()
      const moved = PRICE - (await heldBy(base, address))
      assert.equal(live.get(payer) ?? 0, moved === PRICE ? 1 : 0, `${payer} moved ${moved}`)
      if (served.has(payer)) assert.equal(moved, PRICE, `${payer} was served`)
    }
    ended.abort()
    await mining
    const { code, words } = await world.audit()
    assert.equal(code, 0, words)
    t.diagnostic(`${live.size} payments, of which ${served.size} served their call at once`)
  })

/** The free call of a new address, then one that its wallet pays. */
async function isServed(url: string, [n, wallet]: [number, PrivateKeyAccount]): Promise<boolean> {
  const headers = { 'X-Forwarded-For': `198.18.${Math.floor(n / 250)}.${(n % 250) + 1}` }
  await (await fetch(`${url}/api/stats`, { headers })).arrayBuffer()
  const paid = await payingFetch(wallet)(`${url}/api/stats`, { headers })
  await paid.arrayBuffer()
  return paid.status === 200
}
