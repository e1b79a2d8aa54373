import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { buildConsole } from '#tools/build-console.ts'
import { SHARED_CHAINS } from '../start-own-devnet.ts'

/** The documentation's script alone takes a busy machine half a minute. */
const PATIENCE_MS = 120_000

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A run of all tests has built the page before it. */
export async function buildPage(): Promise<void> {
  if (process.env[SHARED_CHAINS] === undefined) await buildConsole()
}

/** A page whose every request, violation of its policy and error is noted. */
export interface WatchedPage {
  readonly page: Page
  /** Hosts asked but the server's own. */
  readonly strangers: readonly string[]
  /** Errors of scripts and violations of the policy. */
  readonly faults: readonly string[]
}

/** Opens a window, which costs more than a page in it: see `watchPage`. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 1000 },
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return watchPage(context, origin)
}

export async function watchPage(context: BrowserContext, origin: string): Promise<WatchedPage> {
  const page = await context.newPage()
  const strangers: string[] = []
  const faults: string[] = []
  page.on('request', (request) => {
    const { origin: asked, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && asked !== origin) strangers.push(request.url())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    const text = message.text()
    if (/Content Security Policy/.test(text)) faults.push(text)
  })
  return { page, strangers, faults }
}

/** CSS pixels by which the document is wider than its window, once charts have taken their width. */
export function widerBy(page: Page): Promise<unknown> {
  return page.evaluate(`new Promise((done) => {
    const { documentElement: all } = document
    requestAnimationFrame(() => requestAnimationFrame(() => done(all.scrollWidth - all.clientWidth)))
  })`)
}

export function assertClean({ strangers, faults }: WatchedPage): void {
  assert.deepEqual(strangers, [], 'no other host is asked')
  assert.deepEqual(faults, [], 'no script fails and nothing breaks the policy')
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Runs axe-core with all its rules and that of target sizes, which is off by default; it is injected past the policy, as an extension would be. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE)
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })" +
      '.then(({ violations }) => violations)',
  )) as readonly Violation[]
  const told = violations.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
  )
  assert.deepEqual(told, [])
}
