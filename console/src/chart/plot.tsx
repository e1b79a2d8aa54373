import { useContext, useRef } from 'preact/hooks'
import { datesBetween } from '#serving/site/chart/dates.ts'
import {
  areaPath,
  type Box,
  barsPath,
  linePath,
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
  readonly ticksMax?: number
  /** The selected day in words. */
  readonly valueText: string
}

/** Room for the scale on the right, outside the plot. */
const SCALE_WIDTH = 68
const PHONE_WIDTH = 480

/** A chart that shares its selected day with all others; arrow keys, pointer and drag work in each. */
export function Plot(props: PlotProps) {
  const { label, height, marks, series, days, valueText } = props
  const [place, width] = useWidth<HTMLDivElement>()
  const selection = useContext(SelectionContext)
  const box = { width: Math.max(1, width - SCALE_WIDTH), height: height - 6 }
  const count = series[0]?.values.length ?? 0
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
            <Marks {...props} box={box} marks={marks} day={selection.day} />
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
  readonly day: number | undefined
}

function Marks({ marks, series, box, day, format, isWhole, ticksMax = 4 }: MarksProps) {
  const values = series.map((each) => each.values)
  const isFilled = marks !== 'line'
  const shown = marks === 'bars' ? sums(values) : (values[0] ?? [])
  const scale = scaleOf(shown, { fromZero: isFilled, isWhole: isWhole ?? false })
  const ends = [scale.ticks[0] ?? scale.low, scale.ticks.at(-1) ?? scale.high]
  const ticks = scale.ticks.length > ticksMax ? ends : scale.ticks
  const [first] = series
  return (
    <g transform="translate(0 3)">
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="grid" d={`M0 ${yOf(tick, scale, box)}H${box.width}`} />
          <text x={box.width + 8} y={yOf(tick, scale, box)} dy="5">
            {format(tick)}
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
      {marks !== 'bars' && (
        <Line values={values[0] ?? []} tone={first?.tone ?? ''} {...{ scale, box }} />
      )}
      {isFilled && <path class="base" d={`M0 ${box.height}H${box.width}`} />}
      {marks === 'bars' && <Today count={values[0]?.length ?? 0} box={box} />}
      {day !== undefined && <Cursor day={day} count={values[0]?.length ?? 0} box={box} />}
    </g>
  )
}

function Line(props: {
  readonly values: Days
  readonly tone: string
  readonly scale: ReturnType<typeof scaleOf>
  readonly box: Box
}) {
  const { values, tone, scale, box } = props
  const last = values.findLastIndex((value) => value !== null)
  const end = values[last]
  return (
    <>
      <path class={`line ${tone}`} d={linePath(values, scale, box)} />
      {last >= 0 && last < values.length - 1 && (
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
  else if (step !== undefined)
    select(Math.min(count - 1, Math.max(0, (day ?? (step > 0 ? -1 : count)) + step)))
  else if (event.key === 'Home') select(0)
  else if (event.key === 'End') select(count - 1)
  else if (event.key === 'Escape') select(undefined)
  else return
  event.preventDefault()
}
