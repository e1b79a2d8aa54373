import { Copy } from '../parts/copy.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useCsv } from '../parts/use-csv.ts'
import { texts } from '../texts.ts'
import { embedOf } from './embed.ts'
import { nameOfPeriod, type Period } from './view.ts'

export interface ChartLinksProps {
  readonly path: string
  readonly metric?: string
  /** Name of the picture. */
  readonly chart: string
  readonly title: string
  readonly period: Period
}

/** The figures of a chart as CSV, which is a call, and the chart as pictures, which are free. */
export function ChartLinks({ path, metric, chart, title, period: days }: ChartLinksProps) {
  const { failure, saveCsv } = useCsv()
  const period = nameOfPeriod(days)
  const csv = () => saveCsv({ name: `${chart}-${period}`, path, query: { period, metric } })
  return (
    <div class="links">
      <button type="button" class="as-link" onClick={csv}>
        {texts.links.csv}
      </button>
      <a href={`/charts/${chart}.svg?period=${period}`}>{texts.links.svg}</a>
      <Copy
        label={texts.links.embed}
        of={title}
        text={embedOf({
          page: `/?period=${period}`,
          picture: `/charts/${chart}.svg?period=${period}`,
          words: title,
          size: ' width="720" height="320"',
        })}
      />
      {failure !== undefined && <ProblemNote error={failure} again={csv} />}
    </div>
  )
}
