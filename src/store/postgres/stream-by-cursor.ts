import { PAGE_ROWS, type StreamedTable } from '../dialect.ts'
import type { Connection, Row } from '../engine.ts'
import { plain, sql } from '../sql.ts'

let streams = 0

/** PostgreSQL's index may follow a locale, so a cursor sorts once. */
export async function* streamByCursor(
  connection: Connection,
  { table, key, where }: StreamedTable,
): AsyncIterable<Row> {
  streams += 1
  const cursor = plain(`stream_${streams}`)
  const order = Object.entries(key).map(([name, type]) =>
    type === 'text' ? `${name} collate "C"` : name,
  )
  await connection.run(sql`
    declare ${cursor} no scroll cursor for select * from ${plain(table)}
    where ${where ?? sql`true`} order by ${plain(order.join(', '))}`)
  for (;;) {
    const page = await connection.run(sql`fetch ${plain(String(PAGE_ROWS))} from ${cursor}`)
    yield* page
    if (page.length < PAGE_ROWS) break
  }
  await connection.run(sql`close ${cursor}`)
}
