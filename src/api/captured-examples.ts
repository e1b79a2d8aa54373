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

type NamedFacts = Pick<ServiceFacts, 'name' | 'publicBaseUrl' | 'keyPrefix' | 'payment' | 'tokens'>

export type CapturedExamples = Omit<Captured, 'names'>

/** Bodies of keys, payments, usage and problems, in the names of this service. */
export function capturedExamples(facts: NamedFacts): CapturedExamples {
  const { names, ...rest } = captured as Captured
  const own = ownNames(facts)
  const known = Object.entries(names) as [Name, string][]
  const ownOf = new Map(known.map(([name, theirs]) => [theirs, own[name] ?? theirs]))
  // In one pass, because this service's primary token may be called as the captured secondary.
  const any = new RegExp(known.map(patternOf).join('|'), 'g')
  const text = JSON.stringify(rest).replace(any, (theirs) =>
    JSON.stringify(ownOf.get(theirs)).slice(1, -1),
  )
  return JSON.parse(text)
}

/** A symbol is replaced only as a whole JSON string, the prefix of keys only before `_`. */
function patternOf([name, theirs]: [Name, string]): string {
  const text = theirs.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  if (name === 'service') return `(?<=")${text}(?=: )`
  if (name === 'keyPrefix') return `${text}(?=_)`
  if (name === 'network') return `(?<="network":")${text}(?=")`
  if (name === 'primary' || name === 'secondary') return `(?<=")${text}(?=")`
  return text
}

function ownNames(facts: NamedFacts): Readonly<Partial<Record<Name, string>>> {
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
