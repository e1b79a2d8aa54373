import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { burn, reorg } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'

import { eventually } from '../world.ts'
import { passBlocks, untilSealed, type X402World } from '../x402/x402-world.ts'
// Run first, since the last of the tests below uses up what is free.
import './keys-on-page.ts'
import './pages-of-text.ts'
import './entries-on-page.ts'
import {
  assertAccessible,
  assertClean,
  openPage,
  type WatchedPage,
  watchPage,
  widerBy,
} from './page-harness.ts'
import { pageStage, visit } from './page-stage.ts'

const LISTS = ['/entries', '/entries/holders', '/entries/diggers']
const WALLET_PAGE = `/wallet/${accounts.holder}`

/** The page asks for a new snapshot this often. */
const EVERY_MS = 10_000

/** Of the first view, as sent. */
const SCRIPT_BYTES_MAX = 90_000

/** What a translator does to texts that it may touch. */
const TRANSLATE = `{
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode()) texts.push(walker.currentNode)
  for (const text of texts)
    if (!text.parentElement.closest('[translate=no], script')) {
      const font = document.createElement('font')
      text.replaceWith(font)
      font.append(text.data)
    }
}`

describe('the page', () => {
  let world: X402World
  let visitor: WatchedPage
  /** Its clock is moved by tests. */
  let later: WatchedPage
  before(async () => {
    const { browser, ...stage } = pageStage()
    ;({ world, visitor } = stage)
    later = await openPage(browser, world.origin)
    await later.page.clock.install()
  })
  after(() => later.page.context().close())

  const untilSnapshot = (matches: (text: string) => boolean) =>
    eventually(async () => {
      const text = await (await fetch(`${world.origin}/snapshot.json`)).text()
      return matches(text) || undefined
    }, 60_000)

  test('the register shows the figures of the API, and looking costs nothing', async () => {
    const before = (await world.api.get('/api/usage')).body.requestCount
    const watched = await visit('/')
    const { page } = watched
    const { body } = await world.api.get('/api/burns/total')
    await page.getByRole('heading', { name: 'GRAVE burned to date' }).waitFor()
    const shown = (await page.locator('.big').textContent()) ?? ''
    assert.ok(Number(shown.replaceAll(/[,\s]/g, '')) <= Number(body.data.totalBurned))
    assert.equal(await page.locator('table').first().isVisible(), false)
    const { tokens } = (await world.api.get('/api/stats')).body.data
    for (const { symbol, holderCount, role } of tokens.filter(
      (token: { readonly role: string }) => token.role !== 'reward',
    )) {
      const figureOf = (name: string) =>
        page
          .locator('.account div', { hasText: `${name} ${symbol}` })
          .locator('.v')
          .textContent()
      assert.equal(await figureOf('Holders of'), holderCount.toLocaleString('en'), role)
      assert.match((await figureOf('Price of')) ?? '', /^\$\d/)
      assert.match((await figureOf('Circulating')) ?? '', /^[\d,]+$/)
    }
    await page.getByText('A call is one answer of its API: 100 a day are free').waitFor()
    await page.locator('dt', { hasText: 'Chests opened' }).waitFor()
    await assertAccessible(page)
    const bytes = await page.evaluate(
      `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    )
    assert.ok(Number(bytes) > 0 && Number(bytes) < SCRIPT_BYTES_MAX, `${bytes} bytes of scripts`)
    assert.equal((await world.api.get('/api/usage')).body.requestCount, before + 2)
    assertClean(watched)
  })

  test('the figures are drawn before any script arrives', async () => {
    const { browser } = pageStage()
    const { page } = await openPage(browser, world.origin, { javaScriptEnabled: false })
    await page.goto(world.origin)
    await page.getByRole('heading', { name: 'GRAVE burned to date' }).waitFor()
    await page.getByRole('link', { name: 'Keys' }).waitFor()
    assert.match((await page.locator('.big').textContent()) ?? '', /[1-9]/)
    await page.context().close()
  })

  test('fits windows from very wide to odd, and forced colours show what is chosen', async () => {
    const { page } = visitor
    for (const path of ['/', ...LISTS, '/keys', '/try', WALLET_PAGE]) {
      await visit(path, { width: 2_560 })
      await page.getByRole('main').locator('section').first().waitFor()
      // The phone of the next test is narrower still.
      for (const width of [2_560, 820, 768]) {
        await page.setViewportSize({ width, height: 900 })
        assert.equal(await widerBy(page), 0, `${path} at ${width}`)
      }
    }
    await visit('/', { forcedColors: 'active' })
    await page.getByRole('button', { name: '90 d' }).first().waitFor()
    const colors = (pressed: boolean) =>
      page.evaluate(
        `getComputedStyle(document.querySelector('.seg button[aria-pressed=${pressed}]')).backgroundColor`,
      )
    assert.notEqual(await colors(true), await colors(false))
    await assertAccessible(page)
  })

  test('dark, on a phone: nothing is cut off, and axe finds nothing', async () => {
    // The page of a wallet is looked at like this below, at an exhausted quota.
    for (const path of ['/', ...LISTS, '/keys', '/try']) {
      const { page } = await visit(path, { width: 320, height: 800, colorScheme: 'dark' })
      await page.getByRole('main').locator('section').first().waitFor()
      assert.equal(await widerBy(page), 0, path)
      await assertAccessible(page)
      assertClean(visitor)
    }
  })

  test('charts begin with the first block, and a longer period is free', async () => {
    const watched = await visit('/')
    const { page } = watched
    const { body } = await world.api.get('/api/burns?period=all')
    const before = (await world.api.get('/api/usage')).body.requestCount
    const burns = page.getByRole('slider', { name: 'Burned per day by chain' })
    for (const name of ['90 d', '1 y', 'All']) {
      const isLonger = name === '1 y'
      const read = isLonger ? page.waitForResponse('**/series.json') : undefined
      await page.getByRole('button', { name, exact: true }).click()
      await read
      assert.ok(Number(await burns.getAttribute('aria-valuemax')) <= body.data.length + 1, name)
    }
    assert.equal((await world.api.get('/api/usage')).body.requestCount, before)
    await page.getByLabel('Mean of 30 days').check()
    assert.match(page.url(), /\?period=all&rate=30d$/)
    assertClean(watched)
  })

  test('an entry whose block is replaced is struck out, not erased', async () => {
    const { base, devnet } = world
    const from = devnet.wallets.holder.address
    const txHash = await burn(base, {
      from,
      token: 'grave',
      amount: 123_456n * 10n ** 13n,
    })
    await untilSealed(base, txHash)
    await passBlocks(base, 1)
    await untilSnapshot((text) => text.includes(txHash))
    const lists = await watchPage(later.page.context(), world.origin)
    await lists.page.goto(`${world.origin}/entries?kind=burn`)
    await later.page.goto(world.origin)
    const both = [later, lists]
    for (const { page } of both) await page.locator('tr', { hasText: '1.234' }).first().waitFor()
    await reorg(base, { depth: 3 })
    await untilSnapshot((text) => !text.includes(txHash))
    await later.page.clock.fastForward(EVERY_MS)
    for (const watched of both) {
      await watched.page.locator('tr.struck', { hasText: '1.234' }).waitFor()
      await watched.page.getByText(/block [0-9,]+ was replaced/).waitFor()
      assertClean(watched)
    }
    await lists.page.close()
  })

  test('a server that is away is not asked in a hurry, and the last figures stay', async () => {
    const { page } = later
    await page.goto(world.origin)
    let asked = 0
    await page.route('**/snapshot.json', (route) => {
      asked += 1
      return route.abort()
    })
    await page.clock.fastForward(EVERY_MS)
    await page.getByText('The server does not answer.').waitFor()
    await page.getByRole('button', { name: 'Try now' }).click()
    await eventually(async () => asked === 2 || undefined, 20_000)
    await page.clock.fastForward(EVERY_MS / 2)
    await page.waitForTimeout(250)
    assert.equal(asked, 2)
    await page.getByRole('heading', { name: 'GRAVE burned to date' }).waitFor()
    await page.unroute('**/snapshot.json')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' })
  })

  test('a translated page goes on, its header keeps one line, and what is not known has its true reason', async () => {
    const { page } = later
    await page.setViewportSize({ width: 1_280, height: 900 })
    await page.goto(world.origin)
    await page.getByRole('slider', { name: 'Holders' }).waitFor()
    await page.evaluate(TRANSLATE)
    await page.route('**/snapshot.json', async (route) => {
      const snapshot = await (await route.fetch()).json()
      const { meta, stats } = snapshot.figures
      for (const chain of meta.chains) chain.blockNumber = 38_123_456
      Object.assign(stats.tokens[0], { priceUsd: null, priceUnknown: 'low_liquidity' })
      Object.assign(stats.tokens[1], { circulatingSupply: null, holderCount: null })
      meta.unknown = [{ dataset: 'holders', token: 'CRYPT', chain: 'base', reason: 'differs' }]
      await route.fulfill({ json: snapshot })
    })
    await page.clock.fastForward(EVERY_MS)
    await page.getByText(/^Read from block 38,123,456 on base/).waitFor()
    await page.getByText('CRYPT on base moves balances without a Transfer event').waitFor()
    await page.getByText('Too little is in the pool of GRAVE for a price.').waitFor()
    const chains = page.locator('.chains')
    assert.match((await chains.textContent()) ?? '', /^base (△ )?38,123,456, \d+ (s|min) ago/)
    assert.ok(((await chains.boundingBox())?.height ?? 99) < 30)
    await page.unroute('**/snapshot.json')
    await page.setViewportSize({ width: 1_440, height: 1_000 })
  })

  test('every chart has its picture, which is free, and its CSV, which is one call', async () => {
    const watched = await visit('/')
    const { page } = watched
    const pictures = await page.getByRole('link', { name: 'SVG', exact: true }).all()
    assert.equal(pictures.length, 7)
    const before = (await world.api.get('/api/usage')).body.requestCount
    for (const picture of pictures) {
      const answer = await fetch(world.origin + (await picture.getAttribute('href')))
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /^<svg /)
    }
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).nth(1).click()
    assert.equal((await download).suggestedFilename(), 'supply-90d.csv')
    assert.equal((await world.api.get('/api/usage')).body.requestCount, before + 1)
    assertClean(watched)
  })

  test('a search takes an address as it was pasted; my wallet stays in this browser', async () => {
    const { address } = world.devnet.wallets.holder
    const asked: string[] = []
    visitor.page.on('request', (request) =>
      asked.push(JSON.stringify(request.headers()) + request.url()),
    )
    for (const width of [390, 1_440]) {
      const watched = await visit('/', { width })
      const { page } = watched
      await page.locator('search').waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('0x12')
      await page.keyboard.press('Enter')
      await page.getByText('This is neither an address nor a transaction').waitFor()
      const field = page.getByRole('textbox', { name: 'Find a wallet' })
      await field.fill('vitalik.eth')
      await field.press('Enter')
      await page.getByText('are not supported').waitFor()
      await field.fill(` ${address.slice(0, 20)} ${address.slice(20)} `)
      await field.press('Enter')
      await page.getByRole('heading', { name: address }).waitFor()
      await page.getByRole('button', { name: 'Call it my wallet' }).click()
      await page.getByText('my wallet').first().waitFor()
      await page.goto(`${world.origin}/keys`)
      asked.length = 0
      await page.reload()
      await page.locator('search').waitFor()
      await page.keyboard.press('/')
      await page.getByRole('link', { name: 'my wallet' }).waitFor()
      await assertAccessible(page)
      await page.waitForLoadState('networkidle')
      assert.doesNotMatch(asked.join(' '), new RegExp(address, 'i'))
      await page.getByRole('button', { name: 'Forget' }).click()
      assert.equal(await page.getByRole('link', { name: 'my wallet' }).count(), 0)
      assertClean(watched)
    }
  })

  test('a request is built, sent and priced; a refusal is shown as it is', async () => {
    const watched = await visit('/try')
    const { page } = watched
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Paid by your free calls').waitFor()
    await page.getByLabel('period').fill('0d')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('"error": "invalid_parameter"').waitFor()
    await page.getByText('Cost nothing').waitFor()
    await page.getByRole('button', { name: 'Python' }).click()
    await page.getByText('urlopen').first().waitFor()
    assertClean(watched)
  })

  test('an exhausted quota is a full bar, when it resets and where to go; looking goes on', async () => {
    const caller = privateKeyToAccount(generatePrivateKey()).address
    while ((await world.api.get('/api/stats')).status === 200) {}
    const { page: trying } = await visit('/try')
    // Not what the browser has: an answer that did not change stays free.
    await trying.getByLabel('period').fill('8d')
    await trying.getByRole('button', { name: 'Send' }).click()
    await trying.getByText('100 of 100 calls used').waitFor()
    const shown = await trying.locator('[role=status] pre').allTextContents()
    const { body } = await world.api.get('/api/stats')
    assert.deepEqual(Object.keys(JSON.parse(shown[0] ?? '')), Object.keys(body), 'as it was sent')
    await assertAccessible(trying)
    const { page: looking } = await visit(`/wallet/${caller}`)
    await looking.getByRole('heading', { name: 'Nothing entered yet' }).waitFor()
    await looking.getByRole('link', { name: 'Register' }).click()
    await looking.getByRole('heading', { name: 'GRAVE burned to date' }).waitFor()
    await looking.getByRole('button', { name: 'CSV' }).first().click()
    await looking.getByRole('alert').waitFor()
    assert.equal(
      await looking.getByRole('button', { name: 'Try again' }).count(),
      0,
      'it would be refused again',
    )
  })

  test('a wallet’s page is whole at an exhausted quota, and costs nothing', async () => {
    const { body } = await world.api.get('/api/usage')
    assert.equal(body.requestCount - body.overageCount, 100)
    for (const [width, colorScheme] of [
      [320, 'dark'],
      [1_440, 'light'],
    ] as const) {
      const watched = await visit(WALLET_PAGE, { width, colorScheme })
      const { page } = watched
      await page.getByRole('heading', { name: accounts.holder }).waitFor()
      for (const name of ['Held', 'Claims, digs and burns', 'Entries of this wallet'])
        await page.getByRole('heading', { name, exact: true }).waitFor()
      assert.match((await page.locator('.held .sum .amount').first().textContent()) ?? '', /[1-9]/)
      assert.equal(await widerBy(page), 0, `${width}`)
      await assertAccessible(page)
      assertClean(watched)
    }
    const after = (await world.api.get('/api/usage')).body
    assert.equal(after.requestCount, body.requestCount)
    const html = await (await fetch(world.origin + WALLET_PAGE)).text()
    assert.match(
      html,
      new RegExp(`<meta property="og:title" content="${accounts.holder} · Sexton">`),
    )
    const [, image = ''] = /og:image" content="[^"]*(\/cards\/wallet-0x[^"]+)"/.exec(html) ?? []
    const picture = await fetch(world.origin + image)
    assert.equal(picture.headers.get('content-type'), 'image/png')
  })

  test('beyond 60 wallets an hour the page says in words when the next one is shown', async () => {
    for (let number = 1; number <= 60; number += 1)
      await fetch(`${world.origin}/wallet/0x${`${number}`.padStart(40, '0')}`)
    const watched = await visit(`/wallet/0x${'9'.repeat(40)}`)
    const picture = await fetch(`${world.origin}/cards/wallet-0x${'9'.repeat(40)}.png`)
    assert.equal(picture.status, 429)
    assert.ok(Number(picture.headers.get('retry-after')) > 0)
    await watched.page.getByText(/This one is shown from \d\d:\d\d UTC on/).waitFor()
    await assertAccessible(watched.page)
    assertClean(watched)
  })
})
