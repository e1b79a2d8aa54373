import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { renderAsync } from '@resvg/resvg-js'
import { type Font, openSync } from 'fontkit'
import type { Card, CardLine } from './draw-card.ts'

const WIDTH_MAX = 944
/** Lining figures of one width, as on the page. */
const FEATURES = ['lnum', 'tnum']

const { resolve } = createRequire(import.meta.url)
const [regular, bold] = [400, 600].map(
  (weight) =>
    openSync(resolve(`@fontsource/grenze/files/grenze-latin-${weight}-normal.woff2`)) as Font,
)

parentPort?.on('message', async ({ shapes, lines }: Card) => {
  const image = await renderAsync(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630">${shapes}${lines.map(pathsOf).join('')}</svg>`,
    { font: { loadSystemFonts: false } },
  )
  parentPort?.postMessage(image.asPng())
})

/** Letters as outlines: what draws the picture knows neither the typeface nor its figures. */
function pathsOf({ x, y, size, runs }: CardLine): string {
  const set = runs.map(({ text, fill, isBold }) => {
    const font = isBold === true ? bold : regular
    if (font === undefined) throw new Error('the typeface is missing')
    return { fill, run: font.layout(text, FEATURES), em: font.unitsPerEm }
  })
  const ems = set.reduce((sum, { run, em }) => sum + run.advanceWidth / em, 0)
  const pixels = Math.min(size, WIDTH_MAX / ems)
  let at = x
  let drawn = ''
  for (const { fill, run, em } of set) {
    const scale = pixels / em
    for (const [index, glyph] of run.glyphs.entries()) {
      drawn += `<path fill="${fill}" transform="translate(${at} ${y}) scale(${scale} ${-scale})" d="${glyph.path.toSVG()}"/>`
      at += (run.positions[index]?.xAdvance ?? 0) * scale
    }
  }
  return drawn
}
