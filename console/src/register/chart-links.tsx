import { Copy } from '../parts/copy.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useCsv } from '../parts/use-csv.ts'
import { texts } from '../texts.ts'
import { nameOfPeriod, type Period } from './view.ts'

export interface ChartLinksProps {
  readonly path: string
  readonly metric?: string
  /** Name of the picture. */
  readonly chart: string
  readonly title: string
  readonly period: Period
}

/** The figures of a chart as CSV, which is a call, and the chart as a picture, which is free. */
export function ChartLinks({ path, metric, chart, title, period: days }: ChartLinksProps) {
  const { failure, saveCsv } = useCsv()
  const period = nameOfPeriod(days)
  const picture = `/charts/${chart}.svg?period=${period}`
  const csv = () => saveCsv({ name: `${chart}-${period}`, path, query: { period, metric } })
  return (
    <div class="links">
      <button type="button" class="as-link" onClick={csv}>
        {texts.links.csv}
      </button>
      <a href={picture}>{texts.links.svg}</a>
      <CopyEmbed page={`/?period=${period}`} picture={picture} words={title} />
      {failure !== undefined && <ProblemNote error={failure} again={csv} />}
    </div>
  )
}

/** Copies a picture for the HTML of another page, which leads to this one. */
export function CopyEmbed(props: {
  /** Paths of this server. */
  readonly page: string
  readonly picture: string
  readonly words: string
}) {
  const { page, picture, words } = props
  const { origin } = globalThis.location
  const html = `<a href="${origin}${page}"><img src="${origin}${picture}" alt="${words}"></a>`
  return <Copy label={texts.links.embed} of={words} text={html} />
}
