import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refuse } from '#domain/refusal.ts'
import type { Incoming } from '#http/exchange.ts'
import { Type } from '#lib/type.ts'
import { askRoutes } from '#route/ask-routes.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import { chartPages } from './chart-pages.ts'
import { fillShell } from './shell.ts'
import { sharedSnapshot } from './snapshot.ts'
import { themeSheet } from './theme.ts'

const DAY = 86_400

function route(operationId: string, handle: () => ReturnType<Route['prepare']> | object): Route {
  return defineRoute({
    ...{ method: 'GET', path: `/${operationId}`, operationId, tag: 'T', summary: '' },
    ...{ description: '', metered: true, parameters: {}, refusals: [] },
    answers: { 200: { description: '', schema: Type.Object({}) } },
    handle: () => {
      const body = handle()
      return 'kind' in body ? (body as never) : answer(200, JSON.stringify(body))
    },
  })
}

const meta = { chains: [{ chain: 'base', blockNumber: 1_234 }], notConfigured: [] }

function incoming(file: string, query: Readonly<Record<string, string>> = {}): Incoming {
  return {
    ...{ requestId: 'r', method: 'GET', headers: {}, socketAddress: '192.0.2.1', body: undefined },
    path: { file },
    query: new Map(Object.entries(query).map(([name, value]) => [name, [value]])),
    signal: new AbortController().signal,
  }
}

describe('charts', () => {
  let asked = 0
  const routes = [
    route('getDailyBurns', () => {
      asked += 1
      const data = [1, 2, 3].map((burned, day) => ({
        ...{ dateUnix: day * DAY, token: 'GRAVE', burned: String(burned) },
      }))
      return { data, meta }
    }),
    route('getStats', () => ({
      data: {
        lifetimeDividendsUsdAtPayout: null,
        tokens: [
          { symbol: 'A<B', totalBurned: '23988760.59', holderCount: 422, priceUsd: 0.00000012 },
        ],
      },
      meta,
    })),
  ]
  const deps = { ask: askRoutes(routes), chains: ['base', 'ethereum'], colors: {} }
  const [charts, badges] = chartPages(deps)
  assert.ok(charts !== undefined && badges !== undefined)
  const svg = async (page: typeof charts, from: Incoming) => {
    const answered = await page.read(from)
    assert.ok('body' in answered, JSON.stringify(answered))
    return String(answered.body)
  }

  test('are drawn once a minute, whatever else is in the query', async () => {
    asked = 0
    const first = await svg(charts, incoming('burns.svg', { period: '7d' }))
    assert.match(first, /GRAVE burned a day: 6 in 3 days\. As of block base 1,234/)
    assert.equal(asked, 3, 'all, base, ethereum')
    await svg(charts, incoming('burns.svg', { period: '7d', again: 'yes' }))
    assert.equal(asked, 3)
    await svg(charts, incoming('burns.svg', { period: '30d' }))
    assert.equal(asked, 6)
  })

  test('have no script and load nothing', async () => {
    const drawn = await svg(charts, incoming('burns.svg', { theme: 'dark' }))
    assert.doesNotMatch(drawn, /<script|href|url\(|@import/)
    const answered = await charts.read(incoming('burns.svg'))
    assert.ok('headers' in answered && Array.isArray(answered.headers))
    assert.ok(answered.headers.includes("default-src 'none'; style-src 'unsafe-inline'"))
  })

  test('take the colors of the file', async () => {
    const own = { light: '#112233', dark: '#ddeeff' }
    const [colored] = chartPages({ ...deps, colors: { chains: [own] } })
    assert.ok(colored !== undefined)
    assert.match(await svg(colored, incoming('burns.svg', { theme: 'light' })), /--c0:#112233/)
    assert.match(themeSheet({ chains: [own] }), /--chain-1: #ddeeff/)
    assert.equal(themeSheet({}), '')
  })

  test('a wrong name, period or theme is refused and says what there is', async () => {
    for (const [file, query, said] of [
      ['tea.svg', {}, /burns\.svg, supply\.svg/],
      ['burns.png', {}, /burns\.svg/],
      ['burns.svg', { period: '31d' }, /7d, 30d, 90d, 365d, all/],
      ['burns.svg', { theme: 'pink' }, /auto, light, dark/],
    ] as const) {
      const refused = await charts.read(incoming(file, query))
      assert.ok('message' in refused)
      assert.match(refused.message, said)
    }
  })

  test('badges cut figures and escape names; no price is not zero', async () => {
    assert.match(await svg(badges, incoming('burned.svg')), /burned: 23\.98m A&#60;B/)
    assert.match(await svg(badges, incoming('price.svg')), /\$0\.00000012/)
    assert.match(await svg(badges, incoming('dividends.svg')), /no price/)
    const refused = await badges.read(incoming('burned.svg', { token: 'DOGE' }))
    assert.ok('code' in refused && refused.code === 'invalid_parameter')
  })
})

describe('the snapshot', () => {
  const clock = { ms: 1_000_000 }
  let isReady = false
  let made = 0
  let isBroken = false
  const routes = [
    route('getMeta', () => {
      made += 1
      return { service: 'Sexton' }
    }),
    route('getStats', () =>
      isReady ? { data: {}, meta } : refuse('data_not_ready', 'not yet', { retryAfterSeconds: 2 }),
    ),
    route('getBurnTotals', () => {
      if (isBroken) throw new Error('the register cannot be read')
      return { data: {}, meta }
    }),
    route('getDailyBurns', () => ({ data: [], meta })),
    route('getStatsHistory', () => refuse('invalid_parameter', 'no price is configured')),
    route('rankGraveDiggers', () => ({ data: [], meta })),
    ...['listBurns', 'listPayouts', 'listGraveDigs'].map((name, index) =>
      route(name, () => ({ data: [{ id: name, timestampUnix: index }], meta })),
    ),
  ]
  const snapshot = sharedSnapshot({
    ask: askRoutes(routes),
    clock: () => clock.ms,
    chains: ['base'],
  })

  test('is there before the index is, and without figures', async () => {
    assert.equal((await snapshot()).figures, null)
  })

  test('is built once for everyone, and again after five seconds', async () => {
    isReady = true
    clock.ms += 5_000
    made = 0
    const [one, other] = await Promise.all([snapshot(), snapshot()])
    assert.equal(one, other)
    clock.ms += 4_000
    assert.equal(await snapshot(), one)
    clock.ms += 1_000
    assert.notEqual(await snapshot(), one)
    assert.equal(made, 2)
  })

  test('keeps the last figures while the register fails', async () => {
    const { figures } = await snapshot()
    isBroken = true
    clock.ms += 5_000
    assert.equal((await snapshot()).figures, figures)
    isBroken = false
  })

  test('has the newest entries of all kinds together, and no series where there is none', async () => {
    const { figures } = await snapshot()
    assert.deepEqual(
      figures?.newest.map((each) => (each as { readonly id: string }).id),
      ['listGraveDigs', 'listPayouts', 'listBurns'],
    )
    assert.deepEqual(figures?.series.metrics.price, [])
  })
})

test('what a shell carries can end neither its tags nor its data', () => {
  const head = { title: '</title><script>', description: '"', url: 'https://x/' }
  const html = fillShell('<!--head--><!--data-->', head, { name: '</script><script>$&' })
  assert.doesNotMatch(html, /<\/title><script|<\/script><script/)
  assert.match(html, /\$&/)
})
