import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '#test/chromium.ts'
import { type Harness, harnessParts, startHarness } from '#test/http/api-harness.ts'
import { documentPages } from './document-pages.ts'

/** Drawing the page takes about two seconds on a free machine. */
const DRAWN_TIMEOUT_MS = 30_000

describe('the interactive documentation', () => {
  let world: Harness
  let browser: Browser
  let address: string
  /** Loading it takes seconds of the processor, so it is loaded once. */
  let page: Page
  const requested: string[] = []
  const complaints: string[] = []
  before(async () => {
    const { ctx, routes, close } = await harnessParts()
    world = await startHarness({ pages: documentPages(ctx, routes) })
    await close()
    address = `${world.origin}/scalar/v1`
    browser = await launchChromium()
    page = await browser.newPage()
    page.setDefaultTimeout(DRAWN_TIMEOUT_MS)
    page.on('request', (request) => requested.push(request.url()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
  })
  after(async () => {
    await browser.close()
    await world.server.stop()
  })

  const topOf = (page: Page, id: string) =>
    page.evaluate(`document.getElementById('${id}')?.getBoundingClientRect().top`)

  it('the link to the pricing leads to the pricing', async () => {
    await page.goto(`${address}#pricing`)
    await page.waitForSelector('#pricing')
    await page.evaluate(`new Promise((seen) => {
      const watch = new IntersectionObserver((all) => all.some((one) => one.isIntersecting) && seen())
      watch.observe(document.getElementById('pricing'))
    })`)
    assert.ok(Number(await topOf(page, 'quick-start')) < 0)
  })

  it('its Send button calls this server', async () => {
    await page.goto(`${address}#api-1/tag/test/GET/api/thing`)
    await page.locator('button:has-text("Test Request")').first().click()
    const answered = page.waitForResponse((response) => response.url().includes('/api/thing'))
    await page.locator('button:has-text("Send")').last().click()
    const response = await answered
    assert.equal(response.url(), `${world.origin}/api/thing?limit=20`)
    assert.equal(response.status(), 200)
  })

  it('H9: asks nobody but this server and breaks no rule of its policy', () => {
    const ours = (url: string) => url.startsWith(`${world.origin}/`) || url.startsWith('data:')
    assert.ok(requested.length > 1)
    assert.deepEqual(
      requested.filter((url) => !ours(url)),
      [],
    )
    assert.deepEqual(complaints, [])
  })
})
