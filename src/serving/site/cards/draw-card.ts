import type { PageColors } from '#domain/page-settings.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import { datesBetween } from '../chart/dates.ts'
import type { Chart } from '../chart/draw-chart.ts'
import { dayName } from '../chart/format.ts'
import {
  type Box,
  barsPath,
  linePath,
  type Scale,
  scaleOf,
  stackedBars,
  sums,
  xOf,
  yOf,
} from '../chart/geometry.ts'
import { lightColors } from '../theme.ts'
import type { Card, Line } from './card.ts'

export const LEFT = 196
export const RIGHT = 1_140
const WIDTH = RIGHT - LEFT
const SCALE_WIDTH = 94
/** Large letters leave room for as few dates as a phone does. */
const DATES_MAX = 3

export type Fact = readonly [figure: string, what: string]

/** A figure in large digits above the days that made it. */
export interface FigureCard {
  readonly title: string
  readonly figure: string
  readonly facts: readonly Fact[]
  readonly chart: Chart
}

type Colors = ReturnType<typeof lightColors>

export function drawFigureCard(card: FigureCard, colors: PageColors): Card {
  const own = lightColors(colors)
  const { title, figure, facts, chart } = card
  const { marks } = marksOf(chart, { width: WIDTH, height: 140 }, own)
  return framed(own, originOf(chart), {
    shapes: `<g transform="translate(${LEFT} 392)">${marks}</g>`,
    lines: [
      { x: LEFT, y: 104, size: 42, runs: [{ text: title, fill: own.faint, isBold: true }] },
      { x: LEFT, y: 278, size: 212, runs: [{ text: figure, fill: own.ink, isBold: true }] },
      { x: LEFT, y: 354, size: 36, runs: sentenceOf(facts, own) },
    ],
  })
}

export function sentenceOf(facts: readonly Fact[], { ink, faint }: Colors): Line['runs'] {
  return facts.flatMap(([figure, what], index) => [
    { text: figure, fill: ink, isBold: true },
    { text: ` ${what}${index < facts.length - 1 ? ', ' : ''}`, fill: faint },
  ])
}

/** Writes an amount without its decimals, cut. */
export function whole(amount: string): string {
  return BigInt(amount.split('.')[0] ?? 0).toLocaleString('en')
}

export function drawChartCard(chart: Chart, colors: PageColors): Card {
  const own = lightColors(colors)
  const box = { width: WIDTH - SCALE_WIDTH, height: 260 }
  const { marks, scale } = marksOf(chart, box, own)
  const faint = (x: number, y: number, text: string, anchor: Line['anchor'] = 'start'): Line => ({
    ...{ x: LEFT + x, y: 235 + y, size: 32, anchor, runs: [{ text, fill: own.faint }] },
  })
  const heights = scale.ticks.map((tick) => ({ tick, y: yOf(tick, scale, box) }))
  const grid = heights.map(
    ({ y }) => `<path d="M0 ${y.toFixed(1)}H${box.width}" stroke="${own.rule}" stroke-width="2"/>`,
  )
  const bold = (text: string) => [{ text, fill: own.ink, isBold: true }]
  return framed(own, originOf(chart), {
    shapes: `${legendMarks(chart, own)}<g transform="translate(${LEFT} 235)">${grid.join('')}${marks}</g>`,
    lines: [
      { x: LEFT, y: 108, size: 48, width: 560, runs: bold(chart.title) },
      { x: RIGHT, y: 108, size: 48, width: 360, anchor: 'end', runs: bold(chart.readout) },
      ...legendNames(chart).map(([x, name]) => faint(x - LEFT, -64, name)),
      ...heights.map(({ tick, y }) => faint(box.width + 16, y + 10, chart.format(tick))),
      ...datesOf(chart).map(({ index, count, ...date }) =>
        faint(xOf(index, count, box), box.height + 46, date.name, date.anchor),
      ),
    ],
  })
}

function originOf({ series, fromUnix, source }: Chart) {
  const days = series[0]?.values.length ?? 0
  return { unix: fromUnix + Math.max(0, days - 1) * DAY_SECONDS, source }
}

/** Adds paper, margin and mark, and the day and the blocks of the figures. */
export function framed(
  own: Colors,
  { unix, source }: { readonly unix: number; readonly source: string },
  { shapes, lines }: Card,
): Card {
  const foot = [
    { text: `${dayName(unix, true)}, ${source.replace(/^As of /, '')}`, fill: own.faint },
  ]
  return {
    shapes: `<rect width="100%" height="100%" fill="${own.paper}"/>
<path d="M150 0V630M156 0V630" stroke="#d9a5a5" stroke-width="2"/>
<g transform="translate(60 53) scale(2.15)" fill="none"><path d="M2 30V14C2 8 6.6 3.4 12.5.9 18.4 3.4 23 8 23 14V30Z" stroke="${own.ink}" stroke-width="2"/><path d="M6.5 14.5h12M6.5 19.5h12" stroke="${own.ink}" stroke-width="1.8"/><path d="M6.5 24.5h7.5" stroke="#a1232d" stroke-width="2.2"/></g>
${shapes}`,
    lines: [...lines, { x: RIGHT, y: 589, size: 30, anchor: 'end', runs: foot }],
  }
}

function marksOf(chart: Chart, box: Box, own: Colors): { marks: string; scale: Scale } {
  const values = chart.series.map((each) => each.values)
  const isBars = chart.marks === 'bars'
  const { isWhole } = chart
  const scale = scaleOf(isBars ? sums(values) : (values[0] ?? []), { fromZero: isBars, isWhole })
  if (!isBars) {
    const line = linePath(values[0] ?? [], scale, box)
    const marks = `<path d="${line}" fill="none" stroke="${own.chains[0]}" stroke-width="4"/>`
    return { marks, scale }
  }
  const bars = stackedBars(values, scale, box).map(
    (each, index) => `<path fill="${chainColor(own, index)}" d="${barsPath(each)}"/>`,
  )
  const foot = `<path d="M0 ${box.height + 1}H${box.width}" stroke="${own.ink}" stroke-width="2"/>`
  return { marks: bars.join('') + foot, scale }
}

function chainColor({ chains }: Colors, index: number): string | undefined {
  return chains[index % chains.length]
}

const CHARACTER_WIDTH = 17

/** Names of several chains, each at a place that leaves room for the one before. */
function legendNames({ series }: Chart): readonly (readonly [x: number, name: string])[] {
  if (series.length < 2) return []
  let x = LEFT + 38
  return series.map(({ name }) => {
    const at = x
    x += 82 + name.length * CHARACTER_WIDTH
    return [at, name]
  })
}

function legendMarks(chart: Chart, own: Colors): string {
  return legendNames(chart)
    .map(
      ([x], index) =>
        `<rect x="${x - 38}" y="147" width="26" height="26" fill="${chainColor(own, index)}"/>`,
    )
    .join('')
}

function datesOf({ series, fromUnix }: Chart) {
  const count = series[0]?.values.length ?? 0
  const today = { index: count - 1, anchor: 'end', name: 'today' } as const
  const dates = datesBetween(fromUnix, count, DATES_MAX).map(({ index, name }) => {
    return { index, name, anchor: index === 0 ? 'start' : 'middle' } as const
  })
  return count === 0 ? [] : [...dates, today].map((each) => ({ ...each, count }))
}
