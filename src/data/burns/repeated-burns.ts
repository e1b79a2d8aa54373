import { TRANSFER_TOPIC } from '#base/token.ts'
import { countIndexed, type EventSource } from '#ecosystem/event-source.ts'

/** Warnings about burn mappings that can match the same burn, one line per pair. */
export function repeatedBurns(burns: readonly EventSource[]): readonly string[] {
  return burns.flatMap((burn, index) =>
    burns.slice(index + 1).flatMap((other, offset) => {
      const names = `burns[${index + 1 + offset}] and burns[${index}]`
      if (burn.chain.id !== other.chain.id) return []
      if (isSameEvent(burn, other))
        return overlaps(burn, other)
          ? [`${names} match the same logs: each is counted once, by burns[${index}]`]
          : []
      const isSecondEvent = isTransferOfToken(burn) !== isTransferOfToken(other)
      return isSecondEvent && burn.token === other.token
        ? [
            `${names} may count the same burns of ${burn.token?.symbol} on ${burn.chain.name} twice: tokens that emit ${(isTransferOfToken(burn) ? other : burn).event.name} usually emit Transfer too; keep one of them`,
          ]
        : []
    }),
  )
}

function isSameEvent(burn: EventSource, other: EventSource): boolean {
  return (
    burn.address === other.address &&
    burn.topic0 === other.topic0 &&
    countIndexed(burn.event) === countIndexed(other.event)
  )
}

/** Compares arguments by position, since names may differ. */
function overlaps(burn: EventSource, other: EventSource): boolean {
  return burn.event.inputs.every((input, place) => {
    const mine = burn.where.get(input.name ?? '')
    const theirs = other.where.get(other.event.inputs[place]?.name ?? '')
    return mine === undefined || theirs === undefined || !mine.isDisjointFrom(theirs)
  })
}

export function isTransferOfToken({
  topic0,
  token,
  chain,
  address,
}: Pick<EventSource, 'topic0' | 'token' | 'chain' | 'address'>): boolean {
  return topic0 === TRANSFER_TOPIC && token?.addresses.get(chain.name) === address
}
