import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { launchChromium } from '#test/chromium.ts'
import { buildConsole } from '#tools/build-console.ts'
import { startChainServer } from './index/chain-server.ts'
import { runSexton } from './index/run-sexton.ts'

/**
 * How fast the page is on a large register: node tools/bench/page.ts --logs 10000000
 * Prints the largest contentful paint without throttling, median of five visits with an empty cache,
 * and the size of the scripts of the first view.
 */
const VISITS = 5
const BAR_MS = 1_000
const SCRIPT_BAR_BYTES = 90_000

const { values } = parseArgs({ options: { logs: { type: 'string', default: '10000000' } } })
await buildConsole()
const server = await startChainServer(values)
try {
  const result = await runSexton({
    server,
    async whileReady({ url }) {
      const paints = await visits(url)
      const median = paints.toSorted((a, b) => a - b)[Math.floor(VISITS / 2)] ?? 0
      process.stdout.write(
        `largest contentful paint: ${paints.map((ms) => ms.toFixed(0)).join(', ')} ms; median ${median.toFixed(0)} ms (bar ${BAR_MS} ms)\n`,
      )
    },
  })
  process.stdout.write(`${result.logs} logs indexed in ${result.seconds.toFixed(1)} s\n`)
} finally {
  await server.stop()
}
const bytes = await firstViewBytes()
process.stdout.write(
  `scripts of the first view: ${bytes} bytes gzipped (bar ${SCRIPT_BAR_BYTES})\n`,
)

async function visits(url: string): Promise<readonly number[]> {
  const browser = await launchChromium()
  const paints: number[] = []
  for (let visit = 0; visit < VISITS; visit += 1) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'networkidle' })
    paints.push(await largestPaint(page))
    await context.close()
  }
  await browser.close()
  return paints
}

function largestPaint(page: Page): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
      type: 'largest-contentful-paint',
      buffered: true,
    })
  })`)
}

/** Scripts that the document itself names; others are loaded when they are needed. */
async function firstViewBytes(): Promise<number> {
  const folder = join(import.meta.dirname, '../../dist/console/assets')
  const names = (await readdir(folder)).filter((name) =>
    /^(index|quota-line)-.*\.js\.gz$/.test(name),
  )
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
