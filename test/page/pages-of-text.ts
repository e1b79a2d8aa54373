import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { buildClient } from '#tools/build-client.ts'
import { serveHttp } from '../client/serve-http.ts'
import { assertAccessible, assertClean, openPage, widerBy } from './page-harness.ts'
import { pageStage, visit } from './page-stage.ts'

const GUIDE = join(import.meta.dirname, '../../docs/first-chart.md')

describe('what browsers get of addresses that programs use', () => {
  test('an error, the status, a guide and the documentation fit a small phone, and axe finds them clean', async () => {
    const { visitor } = pageStage()
    for (const [path, words] of [
      ['/nowhere', 'nothing at this path'],
      ['/api/burns/recent?limit=0&chain=%3Cscript%3E', 'is not a chain of this service'],
      ['/wallet/0x12', 'write 0x and 40 hex digits'],
      ['/status', 'chain base'],
      ['/problems/not_found', 'What to do'],
      ['/docs/contract', 'Metering'],
      ['/docs/limits', 'dailyCapUsd'],
      ['/scalar/v1', 'On-chain history and statistics'],
    ] as const) {
      const { page } = await visit(path, { width: 320, height: 700 })
      await page.getByText(words).first().waitFor()
      assert.equal(await widerBy(page), 0, path)
      await assertAccessible(page)
      const fonts = String(await page.evaluate('getComputedStyle(document.body).fontFamily'))
      if (path !== '/scalar/v1') assert.match(fonts, /^Grenze/, `${path} looks like the page`)
    }
    assertClean(visitor)
  })

  test('the chart of the guide is drawn on a page of another origin', async () => {
    const { world, browser } = pageStage()
    await buildClient()
    const [, code = ''] = /```html\n([\s\S]*?)```/.exec(await readFile(GUIDE, 'utf8')) ?? []
    const own = await serveHttp((_request, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(code.replaceAll('https://api.example', world.origin))
    })
    const { page, faults } = await openPage(browser, own.url)
    await page.goto(own.url)
    await page.waitForFunction(`
      document.getElementById('chart').getContext('2d').getImageData(0, 0, 640, 240).data.some(Boolean)`)
    assert.deepEqual(faults, [])
    await page.context().close()
    await own.close()
  })
})
