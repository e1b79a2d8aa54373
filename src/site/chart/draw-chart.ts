import type { PageColors } from '#base/page-settings.ts'
import { escapeMarkup } from '#base/text.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { dayName, tickLabels } from '#site/chart/format.ts'
import { chartTokens } from '../theme.ts'
import {
  areaPath,
  type Box,
  barPaths,
  computeScale,
  linePath,
  type Scale,
  sums,
  toX,
  toY,
  type Values,
} from './geometry.ts'

export interface Chart {
  readonly title: string
  /** The newest figure, such as `23.99m GRAVE`. */
  readonly readout: string
  readonly marks: 'bars' | 'line'
  /** Whether values are counts, whose ticks have no fractions. */
  readonly isWhole: boolean
  /** Oldest day first; several series are stacked. */
  readonly series: readonly { readonly name: string; readonly values: Values }[]
  /** Midnight UTC of the first day. */
  readonly fromUnix: number
  /** The blocks of the figures, and their age. */
  readonly source: string
  format(value: number, digits?: number): string
}

export const themes = ['auto', 'light', 'dark'] as const

export type Theme = (typeof themes)[number]

const WIDTH = 720
const HEIGHT = 320
const LEFT = 20
const TOP = 76
const SCALE_WIDTH = 72
const FOOT = 58

/** Draws a self-contained SVG, without scripts and external requests. */
export function drawChart(chart: Chart, theme: Theme, colors: PageColors): string {
  const box = { width: WIDTH - LEFT - SCALE_WIDTH, height: HEIGHT - TOP - FOOT }
  const values = chart.series.map((each) => each.values)
  const isBars = chart.marks === 'bars'
  const { isWhole } = chart
  const scale = computeScale(isBars ? sums(values) : (values[0] ?? []), {
    fromZero: isBars,
    isWhole,
  })
  const description = `${chart.title}: ${chart.readout}. ${chart.source}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escapeMarkup(description)}">
<style>${themeRules(theme, colors)}text{font-family:Georgia,serif;fill:var(--ink);font-variant-numeric:lining-nums tabular-nums}.n{fill:var(--ink-2);font-size:13px}</style>
<rect width="100%" height="100%" fill="var(--paper)"/>
<text x="${LEFT}" y="32" font-size="18" font-weight="600">${escapeMarkup(chart.title)}</text>
<text x="${WIDTH - LEFT}" y="32" font-size="18" text-anchor="end">${escapeMarkup(chart.readout)}</text>
${legend(chart)}
<g transform="translate(${LEFT} ${TOP})">
${grid(scale, box, chart)}
${marks(chart, scale, box)}
</g>
${days(chart, box)}
<text class="n" x="${LEFT}" y="${HEIGHT - 12}">${escapeMarkup(chart.source)}</text>
</svg>
`
}

function themeRules(theme: Theme, colors: PageColors): string {
  const rule = (mode: 'light' | 'dark') => `svg{${chartTokens(colors, mode)}}`
  if (theme !== 'auto') return rule(theme)
  return `${rule('light')}@media(prefers-color-scheme:dark){${rule('dark')}}`
}

function legend({ series }: Chart): string {
  if (series.length < 2) return ''
  return series
    .map(({ name }, index) => {
      const x = LEFT + index * 110
      return `<rect x="${x}" y="48" width="10" height="10" fill="var(--c${index % 4})"/><text class="n" x="${x + 16}" y="57">${escapeMarkup(name)}</text>`
    })
    .join('')
}

function grid(scale: Scale, box: Box, chart: Chart): string {
  const labels = tickLabels(scale.ticks, chart.format)
  return scale.ticks
    .map((tick, index) => {
      const y = toY(tick, scale, box).toFixed(1)
      return `<path d="M0 ${y}H${box.width}" stroke="var(--rule)"/><text class="n" x="${box.width + 8}" y="${y}" dy="4">${escapeMarkup(labels[index] ?? '')}</text>`
    })
    .join('')
}

function marks({ marks: kind, series }: Chart, scale: Scale, box: Box): string {
  const foot = `<path d="M0 ${box.height}H${box.width}" stroke="var(--ink)"/>`
  if (kind === 'line') {
    const path = linePath(series[0]?.values ?? [], scale, box)
    const area = scale.low === 0 ? areaPath(series[0]?.values ?? [], scale, box) : ''
    const fill = area === '' ? '' : `<path d="${area}" fill="var(--c0)" opacity=".12"/>${foot}`
    return `${fill}<path d="${path}" fill="none" stroke="var(--c0)" stroke-width="1.5"/>`
  }
  const all = series.map(({ values }) => values)
  const drawn = barPaths(all, scale, box).map(
    (path, index) => `<path fill="var(--c${index % 4})" d="${path}"/>`,
  )
  return drawn.join('') + foot
}

const DATES_MAX = 6

function days({ series, fromUnix }: Chart, box: Box): string {
  const count = series[0]?.values.length ?? 0
  if (count === 0) return ''
  const y = TOP + box.height + 20
  const at = (index: number, anchor: string, text: string) =>
    `<text class="n" x="${(LEFT + toX(index, count, box)).toFixed(1)}" y="${y}" text-anchor="${anchor}">${text}</text>`
  return [
    ...datesBetween(fromUnix, count, DATES_MAX).map(({ index, name }) =>
      at(index, index === 0 ? 'start' : 'middle', name),
    ),
    at(count - 1, 'end', 'today'),
  ].join('')
}

interface DateMark {
  /** Days since the first. */
  readonly index: number
  readonly name: string
}

/** Candidate dates for labels, from the densest to the sparsest. */
const CHOICES: readonly ((date: Date) => boolean)[] = [
  () => true,
  (date) => date.getUTCDate() % 5 === 1 && date.getUTCDate() < 30,
  (date) => date.getUTCDate() === 1 || date.getUTCDate() === 15,
  (date) => date.getUTCDate() === 1,
  (date) => date.getUTCDate() === 1 && date.getUTCMonth() % 3 === 0,
  (date) => date.getUTCDate() === 1 && date.getUTCMonth() === 0,
]

/** Longer periods name the year, so that days of different years are distinct. */
const DAYS_WITHOUT_YEAR = 300

/** Chooses at most `most` dates to label between the first day (midnight UTC) and the last, which has its own label. */
export function datesBetween(fromUnix: number, count: number, most: number): readonly DateMark[] {
  const room = Math.max(1, count / (most + 1) / 2)
  const days = Array.from({ length: count }, (_, index) => index).filter(
    (index) => index < count - 1 - room,
  )
  const dateOf = (index: number) => new Date((fromUnix + index * DAY_SECONDS) * 1000)
  for (const isNamed of CHOICES) {
    const named = days.filter((index) => isNamed(dateOf(index)))
    if (named.length > most) continue
    return named.map((index) => ({
      index,
      name: dayName(fromUnix + index * DAY_SECONDS, count > DAYS_WITHOUT_YEAR),
    }))
  }
  return []
}
