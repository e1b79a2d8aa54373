import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { X402World } from '../x402/x402-world.ts'
import { assertAccessible, assertClean, type WatchedPage } from './page-harness.ts'
import { pageStage, visit } from './page-stage.ts'

describe('entries on the page', () => {
  let world: X402World
  let watched: WatchedPage
  let page: Page
  before(() => {
    ;({ world, visitor: watched } = pageStage())
    page = watched.page
  })

  const callsSoFar = async () => (await world.api.get('/api/usage')).body.requestCount
  const rows = () => page.locator('.entries tr:not(.day) .what').allTextContents()

  test('the newest are free; older ones of the chosen kind, chain and token are one call', async () => {
    const before = await callsSoFar()
    await visit('/entries')
    await page.getByText('14 shown').waitFor()
    assert.equal(await callsSoFar(), before)
    await page.getByRole('button', { name: 'Burns', exact: true }).click()
    await page.getByLabel('Chain').selectOption('base')
    await page.getByLabel('Token').selectOption('GRAVE')
    assert.match(page.url(), /\/entries\?kind=burn&chain=base&token=GRAVE$/)
    assert.equal(await callsSoFar(), before, 'choosing costs nothing')
    await page.getByRole('button', { name: 'Older entries 1 call' }).click()
    await page.getByText('There are no older ones.').waitFor()
    assert.equal(await callsSoFar(), before + 1)
    const { body } = await world.api.get('/api/burns/recent?chain=base&token=GRAVE&limit=50')
    assert.deepEqual(await rows(), new Array(body.data.length).fill('Burned'))
    await assertAccessible(page)
    assertClean(watched)
  })

  test('what is chosen is in the address, as a curl that works, and as CSV', async () => {
    const { body } = await world.api.get('/api/grave-digs?limit=1')
    const [{ digger, timestamp }] = body.data
    const day = timestamp.slice(0, 10)
    const spaced = `${digger.slice(0, 12)} ${digger.slice(12)}`
    await visit(`/entries?kind=dig&day=${day}&chain=nowhere`)
    const wallet = page.getByLabel('Wallet', { exact: true })
    await wallet.fill(spaced)
    await wallet.press('Enter')
    await page.waitForURL(`**/entries?kind=dig&wallet=${digger}&day=${day}`)
    const curl = (await page.locator('pre').allTextContents()).join()
    const [, url = ''] = /^curl "([^"]+)"$/.exec(curl) ?? []
    const answer = (await (await fetch(url)).json()) as typeof body
    assert.ok(answer.data.length > 0)
    for (const row of answer.data) {
      assert.equal(row.digger, digger)
      assert.ok(row.timestamp.startsWith(day))
    }
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV of digs, 1 call' }).click()
    assert.equal((await download).suggestedFilename(), 'digs.csv')
    await wallet.fill('0x12')
    await wallet.press('Enter')
    await page.getByText('This is not an address').waitFor()
    assertClean(watched)
  })

  test('lists of several kinds are read together without a gap between them', async () => {
    const lists = ['/api/burns/recent', '/api/dividends/recent', '/api/grave-digs']
    const all = await Promise.all(
      lists.map((path) => world.api.get(`${path}?limit=100&token=GRAVE`)),
    )
    const times = all
      .flatMap(({ body }): readonly { readonly timestamp: string }[] => body.data)
      .map(({ timestamp }) => timestamp)
      .sort()
      .reverse()
    // Short pages, as long lists would have.
    await page.route('**/api/**', (route) =>
      route.continue({ url: route.request().url().replace('limit=50', 'limit=3') }),
    )
    await visit('/entries?token=GRAVE')
    const shown = page.locator('.entries .ago')
    let count = await shown.count()
    for (const name of ['Older entries 3 calls', ...new Array<string>(6).fill('Older entries')]) {
      await page.getByRole('button', { name }).click()
      await page.getByRole('button', { name: 'Older entries', disabled: false }).waitFor()
      count = await shown.count()
      const told = await shown.evaluateAll((cells) =>
        cells.map((each) => each.getAttribute('title')),
      )
      assert.deepEqual(told, times.slice(0, count))
    }
    assert.ok(count > 14, `${count} shown`)
    await page.unrouteAll()
    assertClean(watched)
  })

  test('the first holders and diggers come with their page; more are a call', async () => {
    const { body } = await world.api.get('/api/holders?limit=20')
    const first = body.data.find(({ rank }: { readonly rank: number | null }) => rank === 1)
    const before = await callsSoFar()
    await visit('/entries/holders')
    const links = page.locator('.places .who a')
    await links.first().waitFor()
    assert.equal(await links.first().getAttribute('title'), first.address)
    await page.getByRole('link', { name: 'GRAVE/WETH pool' }).waitFor()
    assert.equal(await callsSoFar(), before)
    const few = await links.count()
    await page.getByRole('button', { name: 'The first 100 1 call' }).click()
    await links.nth(few).waitFor()
    assert.equal(await callsSoFar(), before + 1)
    await page.getByLabel('Chain').selectOption('base')
    await page.getByText('reading it is a call').waitFor()
    assert.match(page.url(), /\/entries\/holders\?chain=base$/)
    await page.getByRole('link', { name: 'Top diggers' }).click()
    await page.getByRole('heading', { name: 'Top diggers' }).waitFor()
    await links.first().waitFor()
    assert.equal(await callsSoFar(), before + 1)
    await assertAccessible(page)
    assertClean(watched)
  })
})
