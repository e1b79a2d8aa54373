import { useContext, useRef } from 'preact/hooks'
import { datesBetween } from '#serving/site/chart/draw-chart.ts'
import { tickLabels } from '#serving/site/chart/format.ts'
import {
  areaPath,
  type Box,
  barPaths,
  linePath,
  logScaleOf,
  logsOf,
  scaleOf,
  sums,
  xOf,
  yOf,
} from '#serving/site/chart/geometry.ts'
import type { Days } from '../state/types.ts'
import {
  lastStep,
  NO_SELECTION,
  type Selection,
  SelectionContext,
  type Steps,
  stepAt,
} from './selection.ts'
import { useWidth } from './use-width.ts'

export interface PlotProps {
  readonly label: string
  readonly height: number
  readonly marks: 'bars' | 'line' | 'area'
  /** Oldest day first; bars are stacked. Each has a CSS class that colours it. */
  readonly series: readonly { readonly tone: string; readonly values: Days }[]
  readonly format: (value: number, digits?: number) => string
  /** Named below the chart: midnight of the first day, and the last one in words. */
  readonly days?: { readonly fromUnix: number; readonly last: string }
  readonly isWhole?: boolean
  /** A line on a scale of powers of ten. */
  readonly isLog?: boolean
  /** Values a day, where they are hours. */
  readonly perDay?: number
  /** Line over the bars. */
  readonly rate?: Days | undefined
  readonly ticksMax?: number
  /** What is selected, in words. */
  readonly valueText: string
}

/** Room for the scale on the right, outside the plot. */
const SCALE_WIDTH = 68
/** A date needs it. */
const DATE_WIDTH = 48
const DATES_MAX = 6

/** A chart that shares its selected day with all others; arrow keys, pointer and drag work in each. */
export function Plot(props: PlotProps) {
  const { label, height, series, days, valueText, perDay = 1 } = props
  const [place, width] = useWidth<HTMLDivElement>()
  const selection = useContext(SelectionContext)
  const steps = { values: series[0]?.values ?? [], perDay }
  const count = steps.values.length
  const selected = selection.at === undefined ? undefined : stepAt(selection.at, steps)
  const box = { width: Math.max(1, width - SCALE_WIDTH), height: height - 6 }
  const move = usePointer(box, steps)
  const foot = days === undefined ? 0 : 24
  const datesMax = Math.min(DATES_MAX, Math.floor(box.width / (2 * DATE_WIDTH)))
  return (
    <div
      ref={place}
      class="plot"
      translate={false}
      {...(selection === NO_SELECTION
        ? { role: 'img', 'aria-label': `${label}: ${valueText}` }
        : {
            role: 'slider',
            'aria-label': label,
            'aria-valuemin': 1,
            'aria-valuemax': Math.max(1, count),
            'aria-valuenow': (selected ?? lastStep(steps)) + 1,
            'aria-valuetext': valueText,
            tabIndex: 0,
            onKeyDown: (event: KeyboardEvent) => onKey(event, selection, steps),
            ...move,
          })}
    >
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${Math.max(1, width)} ${height + foot}`}
        height={height + foot}
      >
        {width > 0 && count > 0 && (
          <>
            <Marks {...props} box={box} count={count} selected={selected} />
            {days !== undefined && (
              <g class="days">
                {datesBetween(days.fromUnix, count / perDay, datesMax)
                  .map((date) => ({ ...date, x: xOf(date.index, count / perDay, box) }))
                  .filter(({ x }) => x < box.width - 1.5 * DATE_WIDTH)
                  .map(({ index, name, x }) => (
                    <text
                      key={index}
                      x={x}
                      y={height + 20}
                      text-anchor={x < DATE_WIDTH / 2 ? 'start' : 'middle'}
                    >
                      {name}
                    </text>
                  ))}
                <text x={box.width} y={height + 20} text-anchor="end">
                  {days.last}
                </text>
              </g>
            )}
          </>
        )}
      </svg>
    </div>
  )
}

interface MarksProps extends PlotProps {
  readonly box: Box
  readonly count: number
  readonly selected: number | undefined
}

function Marks(props: MarksProps) {
  const { marks, series, box, count, selected, rate, format } = props
  const { ticksMax = 4, perDay = 1 } = props
  const isLog = props.isLog === true && series[0]?.values.some((value) => (value ?? 0) > 0)
  const values = series.map((each) => (isLog ? logsOf(each.values) : each.values))
  const isFilled = marks !== 'line'
  const scale = scaleFor(props, isLog === true)
  const ends = [scale.ticks[0] ?? scale.low, scale.ticks.at(-1) ?? scale.high]
  const ticks = scale.ticks.length > ticksMax ? ends : scale.ticks
  const labels = tickLabels(isLog ? ticks.map((tick) => 10 ** tick) : ticks, format)
  const [first] = series
  return (
    <g transform="translate(0 3)">
      {ticks.map((tick, index) => (
        <g key={tick}>
          <path class="grid" d={`M0 ${yOf(tick, scale, box)}H${box.width}`} />
          <text x={box.width + 8} y={yOf(tick, scale, box)} dy="5">
            {labels[index]}
          </text>
        </g>
      ))}
      {marks === 'bars' &&
        barPaths(values, scale, box).map((path, index) => (
          <path key={series[index]?.tone} class={series[index]?.tone ?? ''} d={path} />
        ))}
      {marks === 'area' && (
        <path class={`wash ${first?.tone}`} d={areaPath(values[0] ?? [], scale, box)} />
      )}
      {marks !== 'bars' && (
        <Line values={values[0] ?? []} tone={first?.tone ?? ''} {...{ scale, box, perDay }} />
      )}
      {isFilled && <Foot values={first?.values ?? []} box={box} />}
      {marks === 'bars' && <Today count={count} box={box} />}
      {rate !== undefined && <path class="line edge" d={linePath(rate, scale, box)} />}
      {rate !== undefined && <path class="line rate" d={linePath(rate, scale, box)} />}
      {selected !== undefined && <Cursor at={selected} count={count} box={box} />}
    </g>
  )
}

/** One scale for all that is drawn in a panel. */
function scaleFor({ marks, series, isWhole = false }: PlotProps, isLog: boolean) {
  const values = series.map((each) => each.values)
  const shown = marks === 'bars' ? sums(values) : (values[0] ?? [])
  return isLog ? logScaleOf(shown) : scaleOf(shown, { fromZero: marks !== 'line', isWhole })
}

function Line(props: {
  readonly values: Days
  readonly tone: string
  readonly scale: ReturnType<typeof scaleOf>
  readonly box: Box
  readonly perDay: number
}) {
  const { values, tone, scale, box, perDay } = props
  const last = values.findLastIndex((value) => value !== null)
  const end = values[last]
  return (
    <>
      <path class={`line ${tone}`} d={linePath(values, scale, box)} />
      {last >= 0 && last < values.length - perDay && (
        <path
          class="line missing"
          d={`M${xOf(last, values.length, box)} ${yOf(end ?? 0, scale, box)}H${box.width}`}
        />
      )}
    </>
  )
}

/** Zero, so it ends where nothing is known. */
function Foot({ values, box }: { readonly values: Days; readonly box: Box }) {
  const [from, last] = [
    values.findIndex((value) => value !== null),
    values.findLastIndex((value) => value !== null),
  ]
  const step = box.width / values.length
  if (from < 0) return null
  return <path class="base" d={`M${from * step} ${box.height}H${(last + 1) * step}`} />
}

/** Today is hatched until it is over. */
function Today({ count, box }: { readonly count: number; readonly box: Box }) {
  const width = box.width / count
  return (
    <>
      <defs>
        <pattern
          id="hatch"
          width="4"
          height="4"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <path class="hatch" d="M0 0V4" />
        </pattern>
      </defs>
      <rect x={(count - 1) * width} y="0" width={width} height={box.height} fill="url(#hatch)" />
    </>
  )
}

function Cursor(props: { readonly at: number; readonly count: number; readonly box: Box }) {
  const x = xOf(props.at, props.count, props.box)
  return <path class="cursor" d={`M${x} 0V${props.box.height}`} />
}

/** The middle of a step, so that no rounding moves it to the one before. */
function select(selection: Selection, step: number, steps: Steps): void {
  selection.select((Math.min(lastStep(steps), Math.max(0, step)) + 0.5) / steps.perDay)
}

/** Pointing selects a day or an hour; dragging moves the period. */
function usePointer(box: Box, steps: Steps) {
  const selection = useContext(SelectionContext)
  const drag = useRef<number | undefined>(undefined)
  const pointedAt = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect()
    return Math.floor(((event.clientX - left) / box.width) * steps.values.length)
  }
  const dayAt = (event: PointerEvent) => Math.floor(pointedAt(event) / steps.perDay)
  return {
    onPointerDown(event: PointerEvent) {
      drag.current = dayAt(event)
    },
    onPointerMove(event: PointerEvent) {
      const day = dayAt(event)
      if (drag.current !== undefined && event.buttons === 1 && event.pointerType === 'mouse') {
        if (day !== drag.current) selection.pan(drag.current - day)
        drag.current = day
      }
      select(selection, pointedAt(event), steps)
    },
    onPointerUp() {
      drag.current = undefined
    },
    onPointerLeave() {
      drag.current = undefined
      selection.select(undefined)
    },
  }
}

function onKey(event: KeyboardEvent, selection: Selection, steps: Steps): void {
  // The browser's own: back, forward, to the top of the page.
  if (event.altKey || event.ctrlKey || event.metaKey) return
  const last = lastStep(steps)
  const at = selection.at === undefined ? last : stepAt(selection.at, steps)
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (move !== undefined && event.shiftKey) selection.pan(move * 7)
  else if (move !== undefined) select(selection, at + move, steps)
  else if (event.key === 'Home') select(selection, 0, steps)
  else if (event.key === 'End') select(selection, last, steps)
  else if (event.key === 'Escape') selection.select(undefined)
  else return
  event.preventDefault()
}
