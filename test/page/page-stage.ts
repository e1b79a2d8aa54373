import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchChromium } from '../chromium.ts'
import { passBlocks, startX402World, type X402World } from '../x402/x402-world.ts'
import { buildPage } from './page-harness.ts'

export const FREE_CALLS = 3
export const TRADE = 'https://trade.example/grave'

export interface PageStage {
  readonly world: X402World
  readonly browser: Browser
}

let stage: PageStage

/** The service and the browser that all tests of the page share. */
export const pageStage = (): PageStage => stage

before(async () => {
  await buildPage()
  const world = await startX402World({
    change: (file) => ({
      ...file,
      service: { ...file.service, links: { trade: TRADE } },
      quotas: { anonymous: 100, free: FREE_CALLS, premium: 5 },
    }),
    environment: { SEXTON_GUARD_MINT_BURST: '1000' },
  })
  await passBlocks(world.base, 3)
  stage = { world, browser: await launchChromium() }
})
after(async () => {
  await stage?.browser.close()
  await stage?.world.stop()
})
