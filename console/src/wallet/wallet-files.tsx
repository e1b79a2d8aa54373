import { ProblemNote } from '../parts/problem-note.tsx'
import { useCsv } from '../parts/use-csv.ts'
import { walletTexts } from '../wallet-texts.ts'

const t = walletTexts.files

/** What can be taken along, with its cost beside it. */
export function WalletFiles({ address }: { readonly address: string }) {
  const { failure, saveCsv } = useCsv()
  const files = [
    ['claims', `/api/dividends/${address}`, {}],
    ['burns', '/api/burns/recent', { address }],
    ['digs', '/api/grave-digs', { address }],
  ] as const
  return (
    <section class="row" aria-labelledby="files">
      <div class="margin">
        <h2 id="files">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <div class="body">
        <table>
          <thead>
            <tr>
              <th>{t.columns.file}</th>
              <th class="hide-phone">{t.columns.holds}</th>
              <th class="r">{t.columns.cost}</th>
              <th class="r">
                <span class="vh">{t.columns.get}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {files.map(([name, path, own]) => (
              <tr key={name}>
                <td>{t.names[name]}</td>
                <td class="hide-phone quiet">{t.holds}</td>
                <td class="r">{t.call}</td>
                <td class="r">
                  <button
                    type="button"
                    class="as-link"
                    onClick={() =>
                      saveCsv({ name: `${name}-${address}`, path, query: { ...own, limit: 100 } })
                    }
                  >
                    CSV<span class="vh">, {t.names[name]}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {failure !== undefined && <ProblemNote error={failure} />}
      </div>
    </section>
  )
}
