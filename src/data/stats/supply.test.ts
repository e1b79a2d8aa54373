import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from '#base/address.ts'
import { registerMigrations } from '#data/datasets.ts'
import { addresses, burnAddress } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { beginChain, type LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt, startIndexer } from '#test/indexed-ecosystem.ts'
import { callRoute, dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { onSqlite } from '#test/store/each-engine.ts'

const START_UNIX = 1_700_000_000
const WHOLE = 10n ** 18n
const wallet: Address = `0x${'ab'.repeat(20)}`
const { grave } = addresses.base

test('the supply is a plain number in whole tokens, of all chains or of one, as /api/stats has it', () =>
  indexed(
    [
      logOf.mint(grave, wallet, 1_000n * WHOLE + 5n * 10n ** 17n),
      logOf.transfer(grave, wallet, burnAddress, 100n * WHOLE),
      logOf.burn(grave, wallet, 10n * WHOLE),
    ],
    async ({ routes }) => {
      const plain = async (path: string) => {
        const outcome = await callRoute(routes, path)
        assert.ok(outcome.kind === 'answer')
        assert.equal(outcome.contentType, 'text/plain; charset=utf-8')
        return outcome.body
      }
      assert.equal(await plain('/api/supply/total'), '990.5')
      assert.equal(await plain('/api/supply/circulating'), '890.5')
      assert.equal(await plain('/api/supply/circulating?chain=base&token=grave'), '890.5')
      assert.equal(await plain('/api/supply/total?chain=ethereum'), '0')
      const { data } = await readRoute(routes, '/api/stats')
      const { totalSupply, circulatingSupply } = data as Record<string, string>
      assert.deepEqual([totalSupply, circulatingSupply], ['990.5', '890.5'])
    },
  ))

test('who accepts JSON only gets the supply with its blocks', () =>
  indexed([logOf.mint(grave, wallet, 7n * WHOLE)], async ({ routes }) => {
    const body = await readRoute(routes, '/api/supply/total', { accept: 'application/json' })
    const supply = { token: 'GRAVE', chain: 'all', supply: '7', supplyRaw: `${7n * WHOLE}` }
    assert.deepEqual(body.data, supply)
    assert.ok('chains' in body.meta)
  }))

test('a token without a supply, and a chain without the token, are 400 with those that have one', () =>
  indexed([], async ({ routes }) => {
    const ofToken = await refusalOf(routes, '/api/supply/total?token=USDC')
    assert.deepEqual(ofToken.errors?.[0]?.allowed, ['GRAVE', 'CRYPT'])
    const ofChain = await refusalOf(routes, '/api/supply/total?token=CRYPT&chain=ethereum')
    assert.equal(ofChain.code, 'invalid_parameter')
    assert.deepEqual(ofChain.errors?.[0]?.allowed, ['base', 'all'])
  }))

test('a supply that is unknown or old is refused instead of shown', () =>
  indexed([logOf.transfer(grave, wallet, burnAddress, 1n)], async ({ routes, routesAt }) => {
    const unknown = await refusalOf(routes, '/api/supply/total')
    assert.equal(unknown.code, 'data_not_ready')
    assert.match(unknown.message, /The balances of GRAVE are unknown/)
    const old = await refusalOf(routesAt(120), '/api/supply/total?token=CRYPT')
    assert.match(old.message, /The index of base is not up to date/)
  }))

interface Indexed {
  readonly ecosystem: Ecosystem
  readonly routes: ReturnType<typeof dataRoutesOf>
  /** Routes whose clock is so many seconds past the newest block. */
  routesAt(seconds: number): ReturnType<typeof dataRoutesOf>
}

async function indexed(
  logs: readonly LogPlan[],
  work: (indexed: Indexed) => Promise<void>,
): Promise<void> {
  const nodes = [
    await serveChain(beginChain(8453, START_UNIX).add({ logs }).addEmpty(2)),
    await serveChain(beginChain(1, START_UNIX).addEmpty(3)),
  ]
  const urls = { base: nodes[0]?.url ?? '', ethereum: nodes[1]?.url ?? '' }
  const ecosystem = localEcosystemAt(urls, (file) => ({
    ...file,
    tokens: file.tokens.map(({ addresses: { base = '', ...others }, ...token }) => ({
      ...token,
      addresses: token.symbol === 'CRYPT' ? { base } : { base, ...others },
    })),
  }))
  try {
    await onSqlite(registerMigrations, async ({ engine: register }) => {
      const clockAt = (seconds: number) => () => (START_UNIX + 10 + seconds) * 1_000
      const indexer = startIndexer({ ecosystem, register, clock: clockAt(0) })
      await indexer.caughtUp()
      await indexer.stop()
      const routesAt = (seconds: number) =>
        dataRoutesOf({ register, ecosystem, clock: clockAt(seconds) })
      await work({ ecosystem, routesAt, routes: routesAt(0) })
    })
  } finally {
    for (const node of nodes) await node.stop()
  }
}
