import { stringify } from 'csv-stringify/sync'
import { type TObject, Type } from 'typebox'
import { JSON_TYPE, preferredType } from '#api/http/accept.ts'
import { type Parameter, parsed } from './parameter.ts'
import type { RequestFacts } from './route.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8'

/** Accept may name parameters (RFC 4180, section 3). */
const OFFERED_CSV = `${CSV_TYPE}; header=present`

export const formatParameter: Parameter<'json' | 'csv' | undefined> = {
  in: 'query',
  description: '`json`, or `csv` (RFC 4180; also by `Accept: text/csv`).',
  schema: Type.Enum(['json', 'csv'], { default: 'json' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, 'json')
    return raw === 'json' || raw === 'csv'
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be json or csv', allowed: ['json', 'csv'] }
  },
}

export function wantsCsv(
  facts: Pick<RequestFacts, 'headers'>,
  format: 'json' | 'csv' | undefined,
): boolean {
  if (format !== undefined) return format === 'csv'
  const accept = facts.headers.accept?.toString()
  return preferredType(accept, [JSON_TYPE, OFFERED_CSV]) === OFFERED_CSV
}

/** RFC 4180, with a header row. */
export function toCsv(row: TObject, rows: readonly object[]): string {
  return stringify([...rows], {
    header: true,
    columns: Object.keys(row.properties),
    record_delimiter: 'windows',
    cast: { boolean: String },
  })
}
