import type { RefObject } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { datesBetween } from '#site/chart/draw-chart.ts'
import { tickLabels } from '#site/chart/format.ts'
import {
  areaPath,
  type Box,
  barPaths,
  computeScale,
  linePath,
  sums,
  toX,
  toY,
} from '#site/chart/geometry.ts'
import type { Days } from '../state/types.ts'
import { NO_SELECTION, type Selection, SelectionContext } from './selection.ts'

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
  const { label, height, series, days, valueText } = props
  const [place, width] = useWidth<HTMLDivElement>()
  const selection = useContext(SelectionContext)
  const count = series[0]?.values.length ?? 0
  const { day } = selection
  const selected = day === undefined ? undefined : Math.min(count - 1, day)
  const box = { width: Math.max(1, width - SCALE_WIDTH), height: height - 6 }
  const move = usePointer(box, count)
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
            'aria-valuenow': (selected ?? count - 1) + 1,
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
            <Marks {...props} box={box} count={count} selected={selected} />
            {days !== undefined && (
              <g class="days">
                {datesBetween(days.fromUnix, count, datesMax)
                  .map((date) => ({ ...date, x: toX(date.index, count, box) }))
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
  const { marks, series, box, count, selected, rate, format, ticksMax = 4, isWhole = false } = props
  const values = series.map((each) => each.values)
  const isFilled = marks !== 'line'
  const shown = marks === 'bars' ? sums(values) : (values[0] ?? [])
  const scale = computeScale(shown, { fromZero: isFilled, isWhole })
  const ends = [scale.ticks[0] ?? scale.low, scale.ticks.at(-1) ?? scale.high]
  const ticks = scale.ticks.length > ticksMax ? ends : scale.ticks
  const labels = tickLabels(ticks, format)
  const [first] = series
  return (
    <g transform="translate(0 3)">
      {ticks.map((tick, index) => (
        <g key={tick}>
          <path class="grid" d={`M0 ${toY(tick, scale, box)}H${box.width}`} />
          <text x={box.width + 8} y={toY(tick, scale, box)} dy="5">
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
        <Line values={values[0] ?? []} tone={first?.tone ?? ''} {...{ scale, box }} />
      )}
      {isFilled && <Foot values={first?.values ?? []} box={box} />}
      {marks === 'bars' && <Today count={count} box={box} />}
      {rate !== undefined && <path class="line edge" d={linePath(rate, scale, box)} />}
      {rate !== undefined && <path class="line rate" d={linePath(rate, scale, box)} />}
      {selected !== undefined && <Cursor at={selected} count={count} box={box} />}
    </g>
  )
}

function Line(props: {
  readonly values: Days
  readonly tone: string
  readonly scale: ReturnType<typeof computeScale>
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
          d={`M${toX(last, values.length, box)} ${toY(end ?? 0, scale, box)}H${box.width}`}
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
  const x = toX(props.at, props.count, props.box)
  return <path class="cursor" d={`M${x} 0V${props.box.height}`} />
}

/** Pointing selects a day; dragging moves the period. */
function usePointer(box: Box, count: number) {
  const selection = useContext(SelectionContext)
  const drag = useRef<number | undefined>(undefined)
  const letGo = () => {
    drag.current = undefined
  }
  return {
    onPointerUp: letGo,
    onPointerMove(event: PointerEvent) {
      const { left } = (event.currentTarget as Element).getBoundingClientRect()
      const pointed = Math.floor(((event.clientX - left) / box.width) * count)
      const day = Math.min(count - 1, Math.max(0, pointed))
      if (event.buttons === 1 && event.pointerType === 'mouse') {
        if (drag.current !== undefined && day !== drag.current) selection.pan(drag.current - day)
        drag.current = day
      }
      selection.select(day)
    },
    onPointerLeave() {
      letGo()
      selection.select(undefined)
    },
  }
}

function onKey(event: KeyboardEvent, selection: Selection, count: number): void {
  // The browser's own: back, forward, to the top of the page.
  if (event.altKey || event.ctrlKey || event.metaKey) return
  const last = count - 1
  const day = Math.min(last, selection.day ?? last)
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (move !== undefined && event.shiftKey) selection.pan(move * 7)
  else if (move !== undefined) selection.select(Math.min(last, Math.max(0, day + move)))
  else if (event.key === 'Home') selection.select(0)
  else if (event.key === 'End') selection.select(last)
  else if (event.key === 'Escape') selection.select(undefined)
  else return
  event.preventDefault()
}

/** The width of an element in CSS pixels, so that text in a chart keeps its size. */
function useWidth<E extends Element>(): readonly [RefObject<E | null>, number] {
  const place = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return
    const measure = () => setWidth(Math.floor(element.getBoundingClientRect().width))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [place, width]
}
