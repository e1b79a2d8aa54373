import { entriesTexts } from '../entries-texts.ts'
import { Copy } from '../parts/copy.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useCsv } from '../parts/use-csv.ts'
import { useQuota } from '../state/session.ts'
import { codeOf } from '../try/code.ts'
import { targetOf } from '../try/endpoints.ts'

const t = entriesTexts.requests

const ROWS = '100'

export interface Request {
  /** What it lists, such as `burns`. */
  readonly name: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

/** What is shown, as files and as requests to paste. */
export function Requests({ requests }: { readonly requests: readonly Request[] }) {
  const { failure, saveCsv } = useCsv()
  const { hasKey } = useQuota()
  return (
    <section class="row" aria-labelledby="requests">
      <div class="margin">
        <h2 id="requests">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <div class="body stack">
        {failure !== undefined && <ProblemNote error={failure} />}
        {requests.map(({ name, path, query: given }) => {
          const query = { ...given, limit: ROWS }
          const target = targetOf(path, query)
          const file = { name: name.replaceAll(' ', '-'), path, query }
          const code = codeOf('curl', `${location.origin}${target}`, hasKey)
          return (
            <div key={name} class="request">
              <pre>{code}</pre>
              <p class="links">
                <Copy text={code} label={t.copy} of={name} />
                <button type="button" class="as-link" onClick={() => saveCsv(file)}>
                  {t.csv(name)}
                </button>
              </p>
            </div>
          )
        })}
      </div>
    </section>
  )
}
