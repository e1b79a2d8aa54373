import type { Admission } from '#access/meter/admission.ts'
import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { Incoming } from '#http/exchange.ts'
import type { Prepared, RequestFacts, Route } from '#http/route.ts'

/** A request that could be paid for. */
export interface PayableFacts extends RequestFacts {
  /** The path and query that were asked for. */
  readonly target: string
}

/** One request on its way through the pipeline: each step adds what it found out. */
export class Exchange implements PayableFacts {
  readonly route: Route
  readonly incoming: Incoming
  readonly addressBucket: string
  /** The address until a key is found good, so that a 401 shows the figures of the address. */
  caller: Caller
  prepared: Prepared | undefined
  guarded = false
  admission: Extract<Admission, { readonly kind: 'admitted' }> | undefined
  figures: UsageFigures | undefined
  /** Of a payment that was settled on the way. */
  settledHeaders: Readonly<Record<string, string>> | undefined

  constructor(route: Route, incoming: Incoming, addressBucket: string, caller: Caller) {
    this.route = route
    this.incoming = incoming
    this.addressBucket = addressBucket
    this.caller = caller
  }

  get requestId(): string {
    return this.incoming.requestId
  }

  get headers(): Incoming['headers'] {
    return this.incoming.headers
  }

  get signal(): AbortSignal {
    return this.incoming.signal
  }

  /** Built from what was understood of the request, so that nothing else can get into an answer. */
  get target(): string {
    const { path, query } = this.incoming
    const plain = this.route.path.replace(/\{([^}]+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    )
    const pairs = [...query].flatMap(([name, values]) => values.map((value) => [name, value]))
    return pairs.length === 0 ? plain : `${plain}?${new URLSearchParams(pairs)}`
  }
}
