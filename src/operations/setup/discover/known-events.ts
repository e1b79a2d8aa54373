import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { KnownEvent } from '#chains/ecosystem/event-kinds/event-kind.ts'
import { type EventPart, eventKinds } from '#chains/kinds/kinds.ts'
import type { Hash } from '#domain/address.ts'

/** An event of a kind, and the kind's list in the file. */
export type Known = KnownEvent & { readonly part: EventPart }

/** What contracts emit, by topic 0. */
export const eventsByTopic: ReadonlyMap<Hash, Known> = new Map(
  eventKinds.flatMap(({ part, known }) =>
    known.map((event) => [getSelector(parse(event.signature)), { ...event, part }] as const),
  ),
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
  { signature }: Known,
  topics: readonly Hash[],
): { readonly text: string; readonly event: AbiEvent } {
  let left = topics.length - 1
  const text = signature.replace(/(address|uint256) (\w+)/g, (whole, type, name) => {
    left -= 1
    return left >= 0 ? `${type} indexed ${name}` : whole
  })
  return { text: `event ${text}`, event: parse(text) }
}
