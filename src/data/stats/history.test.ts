import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { baseWith, inTokenWorld } from '#test/token-world.ts'

test('the value of a day is the number nearest to its exact figure', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const priced = (file: LocalFile): EcosystemFile => ({
      ...file,
      tokens: file.tokens.map((token) =>
        token.symbol === 'CRYPT'
          ? { ...token, price: { kind: 'fixed', usd: '0.123456789' } }
          : token,
      ),
    })
    const minted = logOf.mint(addresses.base.crypt, accounts.holder, 3n * 10n ** 18n)
    await inTokenWorld(engine, { chain: baseWith([minted]), file: priced }, async (world) => {
      await world.catchUp()
      const target = '/api/stats/history?metric=marketCap&token=CRYPT&period=all'
      const { points } = (await world.read(target)).data as {
        readonly points: readonly { readonly value: number | null; readonly valueExact: string }[]
      }
      const last = points.find(({ value }) => value !== null)
      assert.equal(last?.valueExact, '0.370370367')
      assert.equal(last.value, 0.370370367)
    })
  }))

test('today has a price while its feed is fresh, although the feed is too old at the end of the day', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const { ethUsdFeed, crypt } = addresses.base
    const minted = logOf.mint(crypt, accounts.holder, 10n ** 18n)
    // At 22:13, and at 18:13 of the next day; a feed may be 25 hours old.
    const chain = baseWith([minted, logOf.answer(ethUsdFeed, 2_500n * 10n ** 8n, 1n)]).add({
      logs: [],
      secondsApart: 20 * 3_600,
    })
    await inTokenWorld(engine, { chain }, async (world) => {
      await world.catchUp()
      const target = '/api/stats/history?metric=price&token=WETH&period=1d'
      const { points } = (await world.read(target)).data as {
        readonly points: readonly { readonly value: number | null }[]
      }
      assert.deepEqual(
        points.map(({ value }) => value),
        [2_500],
      )
    })
  }))
