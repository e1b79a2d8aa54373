import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPage } from './page-harness.ts'
import { pageStage } from './page-stage.ts'

describe('charts of the page', () => {
  test('names of dates below narrow charts do not touch', async () => {
    const { world, browser } = pageStage()
    const viewport = { width: 1000, height: 800 }
    const { page } = await openPage(browser, world.origin, { viewport })
    await page.goto(`${world.origin}/?period=90d`)
    await page.getByRole('slider', { name: 'Holders' }).waitFor()
    const touching = `[...document.querySelectorAll('.days')].flatMap((days) => {
      const boxes = [...days.children].map((each) => each.getBoundingClientRect())
      return boxes.slice(1).filter(({ left }, index) => left < boxes[index].right + 4)
    }).length`
    assert.equal(await page.evaluate(touching), 0)
    await page.context().close()
  })

  test('arrow keys read the days in every chart at once, Escape lets go', async () => {
    const { world, browser } = pageStage()
    const { page } = await openPage(browser, world.origin)
    await page.goto(world.origin)
    const chart = page.getByRole('slider', { name: 'Burned per day by chain' })
    const holders = page.getByRole('slider', { name: 'Holders' })
    await chart.focus()
    const today = await chart.getAttribute('aria-valuenow')
    await page.keyboard.press('ArrowLeft')
    assert.equal(await chart.getAttribute('aria-valuenow'), String(Number(today) - 1))
    assert.equal(await holders.getAttribute('aria-valuenow'), String(Number(today) - 1))
    await page.keyboard.press('Escape')
    assert.equal(await holders.getAttribute('aria-valuenow'), today)
    await page.context().close()
  })
})
