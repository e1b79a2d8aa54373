import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { findChromium, launchChromium } from './chromium.ts'

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<title>Graveyard</title><button onclick="this.textContent=1+1">dig</button>')
})
let browser: Browser
let page: Page
let port: number

before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  port = address.port
  browser = await launchChromium()
  page = await browser.newPage()
})
after(async () => {
  await browser.close()
  server.close()
})

for (const host of ['127.0.0.1', 'localhost']) {
  test(`a page on ${host} loads and runs its script`, async () => {
    await page.goto(`http://${host}:${port}/`)
    assert.equal(await page.title(), 'Graveyard')
    await page.click('button')
    assert.equal(await page.textContent('button'), '2')
  })
}

/** example.com is a name kept for documentation (RFC 2606), 192.0.2.1 such an address (RFC 5737). */
for (const host of ['example.com', '192.0.2.1']) {
  test(`a request to ${host} is refused before it leaves the machine`, async () => {
    const refused = await browser.newPage()
    await assert.rejects(refused.goto(`http://${host}/`), /ERR_NAME_NOT_RESOLVED/)
    await refused.close()
    await page.goto(`http://127.0.0.1:${port}/`)
    const outcome = await page.evaluate(
      `fetch('http://${host}/', { mode: 'no-cors' }).then(() => 'answered', () => 'refused')`,
    )
    assert.equal(outcome, 'refused')
  })
}

test('a CHROMIUM_PATH that is no executable is an error that names it', async () => {
  await assert.rejects(findChromium({ CHROMIUM_PATH: '/dev/null' }), /CHROMIUM_PATH is \/dev\/null/)
})
