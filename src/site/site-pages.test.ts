import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import { askRoutes } from '#api/examples.ts'
import { cards } from '#data/cards.ts'
import { answer, type Call, defineRoute, type Parameters, parsed, type Route } from '#route.ts'
import { Wallets } from '#site/wallet/wallet-figures.ts'
import { localEcosystemAt, oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { testCall } from '#test/test-call.ts'
import { testContext } from '#test/test-context.ts'
import { cardPage } from './cards/card-page.ts'
import { chartPages } from './chart-pages.ts'
import { fillShell } from './shell.ts'
import { sitePages } from './site-pages.ts'

const DAY = 86_400

function route(
  operationId: string,
  handle: (query: Readonly<Record<string, unknown>>) => ReturnType<Route['prepare']> | object,
  parameters: Parameters = {},
): Route {
  return defineRoute({
    ...{ method: 'GET', path: `/${operationId}`, operationId, tag: 'T', summary: '' },
    ...{ description: '', metered: true, parameters, refusals: [] },
    answers: { 200: { description: '', schema: Type.Object({}) } },
    handle: ({ effective }) => {
      const body = handle(effective)
      return 'kind' in body ? (body as never) : answer(200, JSON.stringify(body))
    },
  })
}

/** Accepts names in any case, as the API does. */
function named(allowed: readonly string[], normal: string): Parameters[string] {
  return {
    ...{ in: 'query', description: '', schema: Type.String() },
    parse(raw = normal) {
      const value = allowed.find((each) => each.toLowerCase() === raw.toLowerCase())
      return value === undefined ? { ok: false, reason: 'is unknown' } : parsed(value, value)
    },
  }
}

const live = { chain: 'base', blockNumber: 1_234, status: 'live', lagSeconds: 2 }
const meta = { chains: [live], notConfigured: [] }

function incoming(
  file: string,
  query: Readonly<Record<string, string | readonly string[]>> = {},
): Call {
  return testCall({
    path: { file },
    query: new Map(Object.entries(query).map(([name, value]) => [name, [value].flat()])),
  })
}

describe('charts', () => {
  const clock = { ms: 1_000_000 }
  let asked = 0
  let chains = [live]
  const token = named(['GRAVE'], 'GRAVE')
  const chain = named(['base', 'ethereum', 'all'], 'all')
  const period = named(['7d', '30d', '90d', '365d', 'all'], '30d')
  const routes = [
    route(
      'getDailyBurns',
      (query) => {
        asked += 1
        // The API's `all` days are those since the first burn of each chain.
        const from = query.chain === 'ethereum' ? 1 : 0
        const data = [1, 2, 3].slice(from).map((burned, day) => ({
          ...{ dateUnix: (from + day) * DAY, token: 'GRAVE', burned: String(burned) },
        }))
        return { data, meta: { chains } }
      },
      { period, token, chain },
    ),
    route(
      'getStatsHistory',
      () => {
        asked += 1
        const points = [{ dateUnix: 0, value: 5 }]
        return { data: { token: 'GRAVE', unit: 'token', points }, meta }
      },
      { period, token },
    ),
    route('getBurnTotals', () => {
      const day = { burned: null }
      return {
        data: { token: 'GRAVE', totalBurned: '6.5', pctOfMinted: 1.609, last24h: day },
        meta,
      }
    }),
    route('getStats', () => {
      asked += 1
      const tokens = [
        { symbol: 'GRAVE', totalBurned: '23988760.59', holderCount: 422, priceUsd: 0.00000012 },
        { symbol: 'CRYPT', totalBurned: null, holderCount: null, priceUsd: null },
      ]
      return { data: { lifetimeDividendsUsdAtPayout: null, tokens }, meta: { chains } }
    }),
  ]
  const ctx = testContext({ ecosystem: localEcosystemAt({}), clock: () => clock.ms })
  const [charts, badges] = chartPages(ctx, askRoutes(routes))
  assert.ok(charts !== undefined && badges !== undefined)
  const read = async (page: typeof charts, from: Call) => {
    const answered = await page.read(from)
    assert.ok('body' in answered, JSON.stringify(answered))
    return answered
  }
  const svg = async (page: typeof charts, from: Call) => String((await read(page, from)).body)

  test('are drawn once a minute, and no cache keeps them longer', async () => {
    asked = 0
    const first = await svg(charts, incoming('burns.svg', { period: '7d' }))
    assert.match(first, /GRAVE burned a day: 6 in 3 days\. As of block base 1,234"/)
    assert.equal(asked, 3, 'all, base, ethereum')
    clock.ms += 59_000
    const { headers } = await read(charts, incoming('burns.svg', { period: '7d' }))
    assert.equal(headers['Cache-Control'], 'private, max-age=1')
    assert.equal(asked, 3)
    clock.ms += 1_000
    await svg(charts, incoming('burns.svg', { period: '7d' }))
    assert.equal(asked, 6)
  })

  test('say when a chain is silent, and so do badges', async () => {
    clock.ms += 60_000
    chains = [{ ...live, status: 'stale', lagSeconds: 3 * 3_600 + 5 }]
    assert.match(await svg(charts, incoming('burns.svg')), /base 1,234 \(stale, 3 h old\)</)
    const badge = await svg(badges, incoming('price.svg'))
    assert.match(badge, /<title>As of block base 1,234 \(stale, 3 h old\)<\/title>/)
    assert.match(badge, />\$0\.00000012, stale</)
    chains = [live]
    clock.ms += 60_000
  })

  test('have no script and load nothing', async () => {
    const drawn = await svg(charts, incoming('burns.svg', { theme: 'dark' }))
    assert.doesNotMatch(drawn, /<script|href|url\(|@import/)
    const { headers } = await read(charts, incoming('burns.svg'))
    const policy = "default-src 'none'; style-src 'unsafe-inline'"
    assert.equal(headers['Content-Security-Policy'], policy)
  })

  test('a wrong name, period or theme is refused and says what there is', async () => {
    for (const [file, query, said] of [
      ['tea.svg', {}, /burns\.svg, supply\.svg/],
      ['burns.png', {}, /burns\.svg/],
      ['burns.svg', { period: '31d' }, /7d, 30d, 90d, 365d, all/],
      ['burns.svg', { theme: 'pink' }, /auto, light, dark/],
      ['burns.svg', { chain: 'nowhere' }, /chain is unknown/],
    ] as const) {
      const refused = await charts.read(incoming(file, query))
      assert.ok('message' in refused)
      assert.match(refused.message, said)
    }
  })

  test('cards are pictures that every network draws, once a minute each', async () => {
    const ask = askRoutes(routes)
    const card = cardPage(ctx, ask, new Wallets(ctx, ask))
    const { body, headers } = await read(card, incoming('register.png'))
    assert.ok(body instanceof Buffer && headers['Content-Type'] === 'image/png')
    // Width and height of the IHDR chunk (PNG, section 11.2.1).
    assert.equal(body.subarray(1, 4).toString(), 'PNG')
    assert.deepEqual([body.readUInt32BE(16), body.readUInt32BE(20)], [1_200, 630])
    const again = await read(card, incoming('register.png'))
    assert.equal(again.body, body)
  })

  test('badges cut figures; no price is not zero', async () => {
    assert.match(await svg(badges, incoming('burned.svg')), /burned: 23\.98m GRAVE/)
    assert.match(await svg(badges, incoming('price.svg')), /\$0\.00000012/)
    assert.match(await svg(badges, incoming('dividends.svg')), /no price/)
    assert.match(await svg(badges, incoming('holders.svg', { token: 'crypt' })), /not known/)
  })
})

describe('pages', () => {
  const chain = { ...live, blockTimeUnix: 990 }
  const body = { data: [], meta: { ...meta, chains: [chain] } }
  const stats = { totalBurned: '1', burnedPct: 1, holderCount: 1, totalBurnedUsdNow: null }
  const unknown = { ...stats, totalBurned: null, burnedPct: null, holderCount: null }
  const routesWith = (data: object) => [
    route('getMeta', () => ({ service: 'Sexton' })),
    ...['getStats', 'getBurnTotals'].map((name) => route(name, () => ({ ...body, data }))),
    ...[
      'getDailyBurns',
      'rankGraveDiggers',
      'listHolders',
      ...cards.map(({ list }) => list.operationId),
    ].map((name) => route(name, () => body)),
    route('listBurns', () => ({ ...body, data: [{ id: 'a burn', timestampUnix: 1 }] })),
    route('getStatsHistory', () => ({ data: { points: [] } })),
  ]
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const open = async (context: TestContext, data: object = stats) => {
    const folder = await mkdtemp(join(tmpdir(), 'console-'))
    context.after(() => rm(folder, { recursive: true }))
    const ecosystem = oneTokenEcosystemAt('http://127.0.0.1:1')
    const ctx = testContext({ ecosystem, clock: () => 1_000_000 })
    const pages = sitePages(ctx, routesWith(data), folder)
    const read = async (path: string, values: Readonly<Record<string, string>> = {}) => {
      const page = pages.find((each) => each.path === path)
      assert.ok(page !== undefined, path)
      const answered = await page.read({ ...incoming(''), path: values })
      return 'body' in answered ? String(answered.body) : answered.code
    }
    return { folder, read }
  }

  test('only the register carries all figures, a list its newest rows; a wallet costs no copy of them', async (context) => {
    const { folder, read } = await open(context)
    await writeBuilt(folder)
    assert.match(await read('/'), /"id":"a burn"/)
    const wallet = await read('/wallet/{address}', { address })
    assert.doesNotMatch(wallet, /a burn|series/)
    assert.match(wallet, new RegExp(`og:title" content="${address}`))
    assert.match(wallet, /"figures":\{"meta":\{"chains":\[\{"chain":"base"/)
    const entries = await read('/entries')
    assert.match(entries, /"id":"a burn"/)
    assert.doesNotMatch(entries, /series/)
    const other = address.replace(/C8$/, 'C9').toLowerCase()
    assert.match(await read('/wallet/{address}', { address: other }), /dc79c9 /i)
  })

  test('an unknown figure is left out of the head, and is not 0', async (context) => {
    const { folder, read } = await open(context, unknown)
    await writeBuilt(folder)
    const head = await read('/')
    assert.match(head, /og:title" content="Sexton"/)
    assert.doesNotMatch(head, /\b0[\d.]*%? (?:GRAVE )?burned|null holders/)
  })

  test('come once they are built, with their files, even if asked for before', async (context) => {
    const { folder, read } = await open(context)
    assert.equal(await read('/keys'), 'not_found')
    assert.equal(await read('/assets/{file}', { file: 'page.js' }), 'not_found')
    await mkdir(join(folder, 'assets'), { recursive: true })
    await writeFile(join(folder, 'assets', 'page.js'), 'page()')
    await writeBuilt(folder)
    assert.match(await read('/keys'), /API keys · Sexton/)
    assert.equal(await read('/assets/{file}', { file: 'page.js' }), 'page()')
    await rm(folder, { recursive: true })
    assert.match(await read('/try'), /Try the API/, 'a build beside it takes nothing away')
    assert.equal(await read('/assets/{file}', { file: 'page.js' }), 'page()')
    await mkdir(folder)
  })
})

test('what a shell carries can end neither its tags nor its data', () => {
  const head = {
    service: '"><script>',
    title: '</title><script>',
    description: '"',
    url: 'https://x/',
    image: '',
  }
  const html = fillShell('<!--head--><!--view--><!--data-->', {
    head,
    view: '$&',
    data: { name: '</script><script>$&' },
  })
  assert.doesNotMatch(html, /<\/title><script|<\/script><script/)
  assert.match(html, /\$&/)
})

async function writeBuilt(folder: string): Promise<void> {
  await writeFile(join(folder, 'first-view.js'), 'export const drawFirstView = () => ""')
  await writeFile(join(folder, 'index.html'), '<!--head--><!--view--><!--data-->')
}
