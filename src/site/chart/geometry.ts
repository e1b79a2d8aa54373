/** Coordinates are in units of the viewBox; the page and the SVG documents share this file. */

export type Values = readonly (number | null)[]

export interface Box {
  readonly width: number
  readonly height: number
}

export interface Scale {
  readonly low: number
  readonly high: number
  /** One to four round values within the range. */
  readonly ticks: readonly number[]
}

const STEPS = [1, 2, 2.5, 5, 10] as const
const TICKS_MAX = 4
/** Margin above the largest value, and below the least if the scale does not start at zero. */
const ROOM = 0.05

interface ScaleOptions {
  /** Filled marks need a scale that starts at zero. */
  readonly fromZero: boolean
  /** Whether values are counts, whose ticks have no fractions. */
  readonly isWhole?: boolean
}

/** Fits a scale closely around all values. */
export function computeScale(values: Values, { fromZero, isWhole = false }: ScaleOptions): Scale {
  const known = values.filter((value) => value !== null)
  const most = known.length === 0 ? 1 : Math.max(...known)
  const least = known.length === 0 ? 0 : Math.min(...known)
  if (fromZero || (least >= 0 && most < TINY)) {
    const top = most < TINY ? 1 : most
    return roundScale(0, top * (1 + ROOM), isWhole)
  }
  const flat = Math.max(Math.abs(most), Math.abs(least)) * FLAT_SHARE
  const isFlat = most - least <= Math.max(flat, TINY)
  const room = isFlat ? Math.max(Math.abs(most) * ROOM, TINY) : (most - least) * ROOM
  return roundScale(least - room, most + room, isWhole)
}

/** Prices and amounts are larger; smaller steps would vanish in a float. */
const TINY = 1e-18
/** A line with less relative change is drawn flat. */
const FLAT_SHARE = 1e-6

function roundScale(low: number, high: number, isWhole: boolean): Scale {
  const rough = (high - low) / TICKS_MAX
  const power = 10 ** Math.floor(Math.log10(rough))
  const steps = [power, power * 10].flatMap((unit) => STEPS.map((each) => each * unit))
  for (const each of steps.filter((step) => step >= rough)) {
    const step = isWhole ? Math.ceil(each) : each
    const first = Math.ceil(low / step)
    const last = Math.floor(high / step)
    if (last - first >= TICKS_MAX || last < first) continue
    const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
    return { low, high, ticks: ticks.map((tick) => Number(tick.toPrecision(12))) }
  }
  return { low, high, ticks: [low] }
}

export function toY(value: number, scale: Scale, { height }: Box): number {
  return height - ((value - scale.low) / (scale.high - scale.low)) * height
}

export function toX(index: number, count: number, { width }: Box): number {
  return ((index + 0.5) / count) * width
}

/** Half the length of the dash drawn for a single day between unknown ones. */
const DASH = 1.5

/** Returns SVG path data; a missing value breaks the line. */
export function linePath(values: Values, scale: Scale, box: Box): string {
  return splitRuns(values, scale, box)
    .map(([first, ...rest]) => {
      if (first === undefined) return ''
      if (rest.length === 0) return `M${round(first.x - DASH)} ${first.y}h${2 * DASH}`
      return `M${first.x} ${first.y}${lineTo(rest)}`
    })
    .join('')
}

/** Returns the areas between the line and the foot. */
export function areaPath(values: Values, scale: Scale, box: Box): string {
  return splitRuns(values, scale, box)
    .map((run) => `M${run[0]?.x} ${box.height}${lineTo(run)}V${box.height}Z`)
    .join('')
}

interface Point {
  readonly x: number
  readonly y: number
}

function lineTo(points: readonly Point[]): string {
  return points.map(({ x, y }) => `L${x} ${y}`).join('')
}

function splitRuns(values: Values, scale: Scale, box: Box): readonly (readonly Point[])[] {
  const runs: Point[][] = []
  for (const [index, value] of values.entries()) {
    if (value === null) continue
    if (index === 0 || values[index - 1] === null) runs.push([])
    runs.at(-1)?.push({
      x: round(toX(index, values.length, box)),
      y: round(toY(value, scale, box)),
    })
  }
  return runs
}

const GAP_MAX = 3
/** Keeps bars of a short history from growing wider. */
const BAR_MAX = 64

/** Returns one path per series; bars are stacked in order, 1 apart. */
export function barPaths(series: readonly Values[], scale: Scale, box: Box): readonly string[] {
  const count = series[0]?.length ?? 0
  const column = box.width / Math.max(1, count)
  const width = round(Math.min(BAR_MAX, column - Math.min(GAP_MAX, column * 0.25)))
  const tops = new Array<number>(count).fill(0)
  return series.map((values) => {
    const bars = values.map((value, index) => {
      const from = tops[index] ?? 0
      const to = from + (value ?? 0)
      tops[index] = to
      const top = toY(to, scale, box)
      const height = toY(from, scale, box) - top - (from > 0 ? 1 : 0)
      if (height <= 0) return ''
      const x = round((index + 0.5) * column - width / 2)
      return `M${x} ${round(top)}h${width}v${round(height)}h${-width}z`
    })
    return bars.join('')
  })
}

/** Returns the first day with a figure other than zero; 0 if none has one. */
export function firstKnown(series: readonly Values[]): number {
  const firsts = series.map((values) => values.findIndex((value) => value !== null && value !== 0))
  const known = firsts.filter((first) => first >= 0)
  return known.length === 0 ? 0 : Math.min(...known)
}

export function sums(series: readonly Values[]): readonly number[] {
  const count = series[0]?.length ?? 0
  return Array.from({ length: count }, (_, index) =>
    series.reduce((sum, values) => sum + (values[index] ?? 0), 0),
  )
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
