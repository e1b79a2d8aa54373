import { csv } from '../parts/download.ts'
import { texts } from '../texts.ts'
import type { Period } from './use-series.ts'

export interface ChartLinksProps {
  /** Path of the data, and of the picture. */
  readonly data: string
  readonly picture: string
  readonly period: Period
}

/** The figures of a chart as CSV, which is a call, and the chart as a picture, which is free. */
export function ChartLinks({ data, picture, period }: ChartLinksProps) {
  const name = period === 3650 ? 'all' : `${period}d`
  const url = new URL(data, location.origin)
  url.searchParams.set('period', name)
  url.searchParams.set('format', 'csv')
  const file = `${picture.replace(/^.*\//, '').replace('.svg', '')}-${name}.csv`
  return (
    <div class="links">
      <button
        type="button"
        class="as-link"
        title={texts.links.csvCost}
        onClick={() => csv(url.pathname + url.search, file)}
      >
        {texts.links.csv}
      </button>
      <a href={`${picture}?period=${name}`}>{texts.links.svg}</a>
    </div>
  )
}
