import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { visit } from './page-stage.ts'

describe('charts of the page', () => {
  test('names of dates below narrow charts do not touch', async () => {
    const { page } = await visit('/?period=90d', { width: 1000, height: 800 })
    await page.getByRole('slider', { name: 'Holders' }).waitFor()
    const touching = `[...document.querySelectorAll('.days')].flatMap((days) => {
      const boxes = [...days.children].map((each) => each.getBoundingClientRect())
      return boxes.slice(1).filter(({ left }, index) => left < boxes[index].right + 4)
    }).length`
    assert.equal(await page.evaluate(touching), 0)
  })

  test('arrow keys read the days in every chart at once, Escape lets go', async () => {
    const { page } = await visit('/')
    const chart = page.getByRole('slider', { name: 'Burned per day by chain' })
    const holders = page.getByRole('slider', { name: 'Holders' })
    await chart.focus()
    const today = await chart.getAttribute('aria-valuenow')
    await page.keyboard.press('ArrowLeft')
    assert.equal(await chart.getAttribute('aria-valuenow'), String(Number(today) - 1))
    assert.equal(await holders.getAttribute('aria-valuenow'), String(Number(today) - 1))
    await page.keyboard.press('Escape')
    assert.equal(await holders.getAttribute('aria-valuenow'), today)
  })
})
