import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { Hash } from '#domain/address.ts'

/** How an event of this shape is mapped; members name its arguments. */
export type KnownEvent = KnownDividend | KnownDig

export interface KnownDividend {
  readonly part: 'dividends'
  readonly signature: string
  readonly kind: 'claim' | 'distribution'
  readonly recipient?: string
  readonly tokenArgument?: string
  readonly amount: string
}

export interface KnownDig {
  readonly part: 'graveDigs'
  readonly signature: string
  readonly digger: string
  readonly graveId?: string
  readonly amount: string
}

const claim = (signature: string, names: Omit<KnownDividend, 'part' | 'signature' | 'kind'>) =>
  ({ part: 'dividends', kind: 'claim', signature, ...names }) as const

const distribution = (
  signature: string,
  names: Omit<KnownDividend, 'part' | 'signature' | 'kind'>,
) => ({ part: 'dividends', kind: 'distribution', signature, ...names }) as const

/** What payout and claim contracts emit, without `indexed`, which differs between them. */
const KNOWN_EVENTS: readonly KnownEvent[] = [
  ...['DividendClaimed', 'RewardPaid', 'RewardClaimed', 'RewardsClaimed'].flatMap((name) => [
    claim(`${name}(address account, uint256 amount)`, { recipient: 'account', amount: 'amount' }),
    claim(`${name}(address account, address token, uint256 amount)`, {
      recipient: 'account',
      tokenArgument: 'token',
      amount: 'amount',
    }),
  ]),
  ...['DividendWithdrawn', 'DividendsClaimed', 'Claimed', 'Claim', 'Harvest'].map((name) =>
    claim(`${name}(address account, uint256 amount)`, { recipient: 'account', amount: 'amount' }),
  ),
  claim('Claimed(uint256 index, address account, uint256 amount)', {
    recipient: 'account',
    amount: 'amount',
  }),
  distribution('DividendsDistributed(address from, uint256 amount)', { amount: 'amount' }),
  distribution('DividendDistributed(address token, uint256 amount)', {
    tokenArgument: 'token',
    amount: 'amount',
  }),
  distribution('RewardAdded(uint256 amount)', { amount: 'amount' }),
  ...['GraveDug', 'GraveDig'].flatMap(
    (name) =>
      [
        {
          part: 'graveDigs',
          signature: `${name}(address digger, uint256 amount)`,
          digger: 'digger',
          amount: 'amount',
        },
        {
          part: 'graveDigs',
          signature: `${name}(address digger, uint256 graveId, uint256 amount)`,
          digger: 'digger',
          graveId: 'graveId',
          amount: 'amount',
        },
      ] as const,
  ),
]

export const eventsByTopic: ReadonlyMap<Hash, KnownEvent> = new Map(
  KNOWN_EVENTS.map((event) => [getSelector(parse(event.signature)), event]),
)

function parse(signature: string): AbiEvent {
  const text: string = `event ${signature}`
  const item = from(text)
  if (item.type !== 'event') throw new TypeError(`not an event: ${signature}`)
  return item
}

/**
 * The event as a contract declares it: a log's topics say how many arguments are indexed, and
 * indexed ones come first by custom.
 */
export function declare(
  { signature }: KnownEvent,
  topics: readonly Hash[],
): { readonly text: string; readonly event: AbiEvent } {
  let left = topics.length - 1
  const text = signature.replace(/(address|uint256) (\w+)/g, (whole, type, name) => {
    left -= 1
    return left >= 0 ? `${type} indexed ${name}` : whole
  })
  return { text: `event ${text}`, event: parse(text) }
}
