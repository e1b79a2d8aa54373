import { texts } from '../texts.ts'

export interface DataTableProps {
  readonly columns: readonly string[]
  /** Newest first; the first cell is the day. */
  readonly rows: readonly (readonly string[])[]
}

/** Every chart has its table, for screen readers and for copying. */
export function DataTable({ columns, rows }: DataTableProps) {
  return (
    <details class="data">
      <summary>{texts.burns.asTable}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable. */}
      <section class="scroll" tabIndex={0} aria-label={texts.burns.asTable}>
        <table translate={false}>
          <thead>
            <tr>
              {columns.map((column, index) => (
                <th key={column} class={index > 0 ? 'r' : ''}>
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row[0]}>
                {row.map((cell, index) => (
                  <td key={columns[index]} class={index > 0 ? 'r' : ''}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  )
}
