import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchChromium } from '../chromium.ts'
import { passBlocks, startX402World, type X402World } from '../x402/x402-world.ts'
import { buildPage, openPage, type WatchedPage } from './page-harness.ts'

export const FREE_CALLS = 3
export const TRADE = 'https://trade.example/grave'

const WORDS = { graveDig: 'Chest opened', graveDigs: 'Chests opened' }

export interface PageStage {
  readonly world: X402World
  readonly browser: Browser
  /** A person without a wallet, in the one window of all tests that need no other. */
  readonly visitor: WatchedPage
}

let stage: PageStage

/** The service and the browser that all tests of the page share. */
export const pageStage = (): PageStage => stage

/** How a visitor looks at a path. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'dark' | 'light'
  readonly forcedColors?: 'active' | 'none'
}

/** Takes the visitor to a path, in a wide and light window unless told otherwise. */
export async function visit(path: string, look: Look = {}): Promise<WatchedPage> {
  const { world, visitor } = stage
  const { width = 1440, height = 1000, colorScheme = 'light', forcedColors = 'none' } = look
  await visitor.page.setViewportSize({ width, height })
  await visitor.page.emulateMedia({ colorScheme, forcedColors })
  await visitor.page.goto(world.origin + path)
  return visitor
}

before(async () => {
  await buildPage()
  const world = await startX402World({
    change: (file) => ({
      ...file,
      service: { ...file.service, links: { trade: TRADE }, words: WORDS },
      quotas: { anonymous: 100, free: FREE_CALLS, premium: 5 },
    }),
    environment: { SEXTON_GUARD_PER_MINUTE: '3000,1000' },
  })
  await passBlocks(world.base, 3)
  const browser = await launchChromium()
  stage = { world, browser, visitor: await openPage(browser, world.origin) }
})
after(async () => {
  await stage?.browser.close()
  await stage?.world.stop()
})
