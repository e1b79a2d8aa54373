import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { type Effective, parseParameters, type ValuesOf } from '#route/route.ts'
import { type Filter, filterParameters } from '#serving/stream/stream-parameters.ts'

type Parsers = ReturnType<typeof filterParameters>

export interface ParsedFilter {
  readonly filter: Filter
  readonly effective: Readonly<Record<string, Effective>>
}

/** Parses a filter like the parameters of the stream. */
export function parseFilter(
  ecosystem: Ecosystem,
  given: Readonly<Record<string, unknown>>,
): ParsedFilter | Refusal {
  const texts = Object.entries(given).filter(([, value]) => value !== null)
  const query = new Map(texts.map(([name, value]) => [name, [String(value)]]))
  const parsed = parseParameters(filterParameters(ecosystem), { query, path: {} })
  if (isRefusal(parsed)) {
    const errors = (parsed.errors ?? []).map((each) => {
      return { ...each, in: 'body' as const, name: `filter.${each.name}` }
    })
    return { ...parsed, code: 'invalid_body', message: `filter.${parsed.message}`, errors }
  }
  return { filter: parsed.parameters as ValuesOf<Parsers>, effective: parsed.effective }
}

/** Undefined while the ecosystem file does not know its token or chain. */
export function readFilter(ecosystem: Ecosystem, text: string): Filter | undefined {
  const parsed = parseFilter(ecosystem, JSON.parse(text))
  return isRefusal(parsed) ? undefined : parsed.filter
}
