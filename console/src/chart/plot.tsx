import { useContext, useRef } from 'preact/hooks'
import { datesBetween } from '#serving/site/chart/dates.ts'
import {
  areaPath,
  type Box,
  barsPath,
  linePath,
  logScaleOf,
  logsOf,
  scaleOf,
  stackedBars,
  sums,
  xOf,
  yOf,
} from '#serving/site/chart/geometry.ts'
import type { Days } from '../state/types.ts'
import { NO_SELECTION, SelectionContext } from './selection.ts'
import { useWidth } from './use-width.ts'

export interface PlotProps {
  readonly label: string
  readonly height: number
  readonly marks: 'bars' | 'line' | 'area'
  /** Oldest day first; bars are stacked. Each has a CSS class that colours it. */
  readonly series: readonly { readonly tone: string; readonly values: Days }[]
  readonly format: (value: number) => string
  /** Named below the chart: midnight of the first day, and the last one in words. */
  readonly days?: { readonly fromUnix: number; readonly last: string }
  readonly isWhole?: boolean
  /** A line on a scale of powers of ten. */
  readonly isLog?: boolean
  /** Values a day, where they are hours. */
  readonly perDay?: number
  /** Thin line on the same scale: what it was before. */
  readonly before?: Days | undefined
  /** Line over the bars. */
  readonly rate?: Days | undefined
  /** Where the last value would be after so many days more; dots lead there. */
  readonly projection?: Projection | undefined
  readonly ticksMax?: number
  /** The selected day in words. */
  readonly valueText: string
}

export interface Projection {
  readonly days: number
  readonly from: number
  readonly to: number
  readonly tone: string
  /** Name of its last day. */
  readonly end: string
}

/** Room for the scale on the right, outside the plot. */
const SCALE_WIDTH = 68
const PHONE_WIDTH = 480
/** A date needs it, besides "today". */
const DATE_WIDTH = 48

/** A chart that shares its selected day with all others; arrow keys, pointer and drag work in each. */
export function Plot(props: PlotProps) {
  const { label, height, series, days, valueText, perDay = 1, projection } = props
  const [place, width] = useWidth<HTMLDivElement>()
  const selection = useContext(SelectionContext)
  const count = (series[0]?.values.length ?? 0) / perDay
  const whole = Math.max(1, width - SCALE_WIDTH)
  const share = projection === undefined ? 1 : count / (count + projection.days)
  const box = { width: whole * share, height: height - 6 }
  const move = usePointer(box, count)
  const foot = days === undefined ? 0 : 24
  return (
    <div
      ref={place}
      class="plot"
      {...(selection === NO_SELECTION
        ? { role: 'img', 'aria-label': `${label}: ${valueText}` }
        : {
            role: 'slider',
            'aria-label': label,
            'aria-valuemin': 1,
            'aria-valuemax': Math.max(1, count),
            'aria-valuenow': (selection.day ?? count - 1) + 1,
            'aria-valuetext': valueText,
            tabIndex: 0,
            onKeyDown: (event: KeyboardEvent) => onKey(event, selection, count),
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
            <Marks {...props} box={box} whole={whole} count={count} day={selection.day} />
            {days !== undefined && (
              <g class="days">
                {datesBetween(days.fromUnix, count, width < PHONE_WIDTH ? 3 : 6).map((date) => (
                  <text
                    key={date.index}
                    x={xOf(date.index, count, box)}
                    y={height + 20}
                    text-anchor={date.index === 0 ? 'start' : 'middle'}
                  >
                    {date.name}
                  </text>
                ))}
                <text x={box.width} y={height + 20} text-anchor="end">
                  {days.last}
                </text>
                {projection !== undefined && whole - box.width > DATE_WIDTH && (
                  <text class="guess" x={whole} y={height + 20} text-anchor="end">
                    {projection.end}
                  </text>
                )}
              </g>
            )}
          </>
        )}
      </svg>
    </div>
  )
}

interface MarksProps extends PlotProps {
  /** Of the days. */
  readonly box: Box
  /** With what is projected. */
  readonly whole: number
  readonly count: number
  readonly day: number | undefined
}

function Marks(props: MarksProps) {
  const { marks, series, box, whole, count, day, rate, projection, format } = props
  const { ticksMax = 4, perDay = 1 } = props
  const isLog = props.isLog === true && series[0]?.values.some((value) => (value ?? 0) > 0)
  const values = series.map((each) => (isLog ? logsOf(each.values) : each.values))
  const before = isLog && props.before ? logsOf(props.before) : props.before
  const isFilled = marks !== 'line'
  const scale = scaleFor(props, isLog === true)
  const ends = [scale.ticks[0] ?? scale.low, scale.ticks.at(-1) ?? scale.high]
  const ticks = scale.ticks.length > ticksMax ? ends : scale.ticks
  const [first] = series
  return (
    <g transform="translate(0 3)">
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="grid" d={`M0 ${yOf(tick, scale, box)}H${whole}`} />
          <text x={whole + 8} y={yOf(tick, scale, box)} dy="5">
            {format(isLog ? 10 ** tick : tick)}
          </text>
        </g>
      ))}
      {marks === 'bars' &&
        stackedBars(values, scale, box).map((bars, index) => (
          <path key={series[index]?.tone} class={series[index]?.tone ?? ''} d={barsPath(bars)} />
        ))}
      {marks === 'area' && (
        <path class={`wash ${first?.tone}`} d={areaPath(values[0] ?? [], scale, box)} />
      )}
      {before !== undefined && <path class="line before" d={linePath(before, scale, box)} />}
      {marks !== 'bars' && (
        <Line values={values[0] ?? []} tone={first?.tone ?? ''} {...{ scale, box, perDay }} />
      )}
      {isFilled && <path class="base" d={`M0 ${box.height}H${box.width}`} />}
      {marks === 'bars' && <Today count={count} box={box} />}
      {rate !== undefined && <path class="line edge" d={linePath(rate, scale, box)} />}
      {rate !== undefined && <path class="line rate" d={linePath(rate, scale, box)} />}
      {projection !== undefined && (
        <path
          class={`line guess ${projection.tone}`}
          d={`M${xOf(count - 1, count, box)} ${yOf(projection.from, scale, box)}L${whole} ${yOf(projection.to, scale, box)}`}
        />
      )}
      {day !== undefined && <Cursor day={day} count={count} box={box} />}
    </g>
  )
}

/** One scale for all that is drawn in a panel. */
function scaleFor(
  { marks, series, before = [], projection, isWhole = false }: PlotProps,
  isLog: boolean,
) {
  const values = series.map((each) => each.values)
  const shown = marks === 'bars' ? sums(values) : (values[0] ?? [])
  const all = [...shown, ...before, projection?.to ?? null]
  return isLog ? logScaleOf(all) : scaleOf(all, { fromZero: marks !== 'line', isWhole })
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

function Cursor(props: { readonly day: number; readonly count: number; readonly box: Box }) {
  const x = xOf(props.day, props.count, props.box)
  return <path class="cursor" d={`M${x} 0V${props.box.height}`} />
}

/** Pointing selects a day; dragging moves the period. */
function usePointer(box: Box, count: number) {
  const selection = useContext(SelectionContext)
  const drag = useRef<number | undefined>(undefined)
  const dayAt = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect()
    const day = Math.floor(((event.clientX - left) / box.width) * count)
    return Math.min(count - 1, Math.max(0, day))
  }
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
      selection.select(day)
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

function onKey(
  event: KeyboardEvent,
  {
    day,
    select,
    pan,
  }: { day: number | undefined; select(day?: number): void; pan(days: number): void },
  count: number,
): void {
  // The browser's own: back, forward, to the top of the page.
  if (event.altKey || event.ctrlKey || event.metaKey) return
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (step !== undefined && event.shiftKey) pan(step * 7)
  else if (step !== undefined) select(Math.min(count - 1, Math.max(0, (day ?? count - 1) + step)))
  else if (event.key === 'Home') select(0)
  else if (event.key === 'End') select(count - 1)
  else if (event.key === 'Escape') select(undefined)
  else return
  event.preventDefault()
}
