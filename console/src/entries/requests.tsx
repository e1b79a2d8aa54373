import { useState } from 'preact/hooks'
import { entriesTexts } from '../entries-texts.ts'
import { Copy } from '../parts/copy.tsx'
import { save } from '../parts/download.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { sexton, useQuota } from '../state/session.ts'
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
  const [failure, setFailure] = useState<unknown>()
  const { hasKey } = useQuota()
  const csv = async ({ name, path, query }: Request) => {
    setFailure(undefined)
    try {
      const input = { ...query, limit: ROWS, format: 'csv' }
      const { data } = await sexton().call<string>('GET', path, input)
      save(new Blob([data], { type: 'text/csv' }), `${name.replaceAll(' ', '-')}.csv`)
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <section class="row" aria-labelledby="requests">
      <div class="margin">
        <h2 id="requests">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <div class="body stack">
        {failure !== undefined && <ProblemNote error={failure} />}
        {requests.map((request) => {
          const { name, path, query } = request
          const target = targetOf(path, { ...query, limit: ROWS })
          const code = codeOf('curl', `${location.origin}${target}`, hasKey)
          return (
            <div key={name} class="request">
              <pre>{code}</pre>
              <p class="links">
                <Copy text={code} label={t.copy} of={name} />
                <button type="button" class="as-link" onClick={() => csv(request)}>
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
