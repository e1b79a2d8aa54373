import { getSelector } from 'ox/AbiEvent'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import { DecodeError, type EventArguments } from '#chains/ecosystem/event-arguments.ts'
import type { AskView, ContractPrice, PricePair } from '#chains/ecosystem/priced-token.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { callView } from './call-view.ts'
import { nameOfTopic } from './name-of-topic.ts'
import { compileWordDecoder } from './word-decoder.ts'

export function topicsOf({ events }: Pick<ContractPrice, 'events'>): readonly Hash[] {
  return events.map((event) => getSelector(event))
}

/** Asks a node which contracts emit, if the price's own does not. */
export async function askFilter(
  source: Pick<ChainSource, 'call'>,
  price: ContractPrice,
  pair: PricePair,
): Promise<LogFilter> {
  const { address, emitters } = price
  const addresses = (await emitters?.ask(askOf(source, address, `the price at ${address}`))) ?? [
    address,
  ]
  return { addresses, topics: [topicsOf(price), ...(price.topics?.(pair) ?? [])] }
}

export function askOf(source: Pick<ChainSource, 'call'>, address: Address, field: string): AskView {
  return (view, args, at = address) => callView(source, { field, address: at, view, args })
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
