/** What a call asks for; the rules of its answer follow from it. */
export type CallKind =
  /** A data endpoint: counted when it is answered 200. */
  | 'data'
  /** A data endpoint with an entity tag: 304 costs nothing. */
  | 'conditional'
  | 'usage'
  | 'bad-key'
  | 'bad-parameter'
  | 'unknown-path'

/** What paid for a call, as its answer says. */
export type Source = 'none' | 'quota' | 'prepaid'

/** One line of the record that the callers themselves keep; times are their own clock's. */
export type Entry =
  | {
      readonly type: 'sent'
      readonly call: number
      readonly caller: number
      readonly kind: CallKind
      readonly atMs: number
    }
  | ({ readonly type: 'answered' } & Answered)
  /** The caller hung up, or the connection broke: nobody knows whether the call was counted. */
  | {
      readonly type: 'lost'
      readonly call: number
      readonly caller: number
      readonly kind: CallKind
      readonly atMs: number
    }
  /** A prepayment for a key was seen verified. */
  | {
      readonly type: 'funded'
      readonly caller: number
      readonly microUsd: number
      readonly atMs: number
    }
  /** Its owner asked that a key be revoked, perhaps by rotation. */
  | { readonly type: 'ending'; readonly caller: number; readonly atMs: number }
  /** The service said that a key is revoked; its money is on the successor, if it has one. */
  | {
      readonly type: 'ended'
      readonly caller: number
      readonly successor: number | undefined
      readonly atMs: number
    }

export interface Answered {
  readonly call: number
  readonly caller: number
  readonly kind: CallKind
  readonly status: number
  readonly source: Source
  /** The X-RateLimit headers; NaN where one is missing. */
  readonly limit: number
  readonly remaining: number
  readonly resetUnix: number
  /** When the call was sent, and when its answer was read. */
  readonly sentMs: number
  readonly atMs: number
}
