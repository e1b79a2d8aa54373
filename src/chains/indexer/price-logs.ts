import { getSelector } from 'ox/AbiEvent'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import { DecodeError, type EventArguments } from '#chains/ecosystem/event-arguments.ts'
import type { ContractPrice, PricePair } from '#chains/ecosystem/priced-token.ts'
import type { Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { nameOfTopic } from './name-of-topic.ts'
import { compileWordDecoder } from './word-decoder.ts'

export function topicsOf({ events }: Pick<ContractPrice, 'events'>): readonly Hash[] {
  return events.map((event) => getSelector(event))
}

export function filterOf(price: ContractPrice, pair: PricePair): LogFilter {
  return { addresses: [price.address], topics: [topicsOf(price), ...(price.topics?.(pair) ?? [])] }
}

export function nameOfEvents(price: Pick<ContractPrice, 'events'>): string {
  return topicsOf(price).map(nameOfTopic).join(' or ')
}

/** Undefined for logs of other events; throws DecodeError. */
export function compilePriceDecoder({ events }: Pick<ContractPrice, 'events'>) {
  const decoders = new Map<string, ReturnType<typeof compileWordDecoder>>(
    events.map((event) => [getSelector(event), compileWordDecoder(event)]),
  )
  return (log: Pick<Log, 'topics' | 'data'>): EventArguments | undefined => {
    const [topic0 = ''] = log.topics
    if (!decoders.has(topic0)) return undefined
    const args = decoders.get(topic0)?.(log)
    if (args === undefined)
      throw new DecodeError(`it is not ${nameOfTopic(topic0)} with the same "indexed"`)
    return args
  }
}
