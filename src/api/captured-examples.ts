import type { RefusalCode } from '#domain/refusal.ts'
import captured from './examples.json' with { type: 'json' }
import type { Examples } from './live-examples.ts'
import type { ServiceFacts } from './service-facts.ts'

/** What `tools/capture-examples.ts` wrote down of a real service. */
interface Captured {
  /** Names of that service, which are replaced by this one's. */
  readonly names: Readonly<Record<Name, string>>
  readonly requests: Readonly<Record<string, unknown>>
  readonly answers: Examples
  readonly problems: Readonly<Partial<Record<RefusalCode, unknown>>>
}

type Name =
  | 'publicBaseUrl'
  | 'service'
  | 'keyPrefix'
  | 'primary'
  | 'secondary'
  | 'asset'
  | 'payTo'
  | 'network'

export type CapturedExamples = Omit<Captured, 'names'>

/** Bodies of keys, payments, usage and problems, in the names of this service. */
export function capturedExamples(facts: ServiceFacts): CapturedExamples {
  const { names, ...rest } = captured as Captured
  const own = ownNames(facts)
  let text = JSON.stringify(rest)
  for (const [name, theirs] of Object.entries(names) as [Name, string][]) {
    const [before, after] = contextOf(name)
    text = text.replaceAll(before + theirs + after, before + (own[name] ?? theirs) + after)
  }
  return JSON.parse(text)
}

/** Short names are replaced only where they stand as such. */
function contextOf(name: Name): readonly [string, string] {
  if (name === 'service') return ['"', ': ']
  if (name === 'keyPrefix') return ['', '_']
  if (name === 'network') return ['"network":"', '"']
  if (name === 'primary' || name === 'secondary') return ['"', '"']
  return ['', '']
}

function ownNames(facts: ServiceFacts): Readonly<Partial<Record<Name, string>>> {
  const { payment, tokens } = facts
  const symbolOf = (role: string) => tokens.find((token) => token.role === role)?.symbol
  const named = { primary: symbolOf('primary'), secondary: symbolOf('secondary') }
  return {
    publicBaseUrl: facts.publicBaseUrl,
    service: facts.name,
    keyPrefix: facts.keyPrefix,
    ...(named.primary !== undefined && { primary: named.primary }),
    ...(named.secondary !== undefined && { secondary: named.secondary }),
    ...(payment !== null && {
      asset: payment.asset,
      payTo: payment.payTo,
      network: payment.network,
    }),
  }
}
