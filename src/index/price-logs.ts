import { type AbiEvent, getSelector } from 'ox/AbiEvent'
import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import type { ChainSource, LogFilter } from '#chain/chain-source.ts'
import { DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import type { AskView, ContractPrice, PricePair } from '#ecosystem/priced-token.ts'
import { callView } from './call-view.ts'
import { compileWordDecoder } from './decode-event.ts'

export function listTopics({ events }: Pick<ContractPrice, 'events'>): readonly Hash[] {
  return events.map((event) => getSelector(event))
}

/** Asks a node which contracts emit, if the price's own does not. */
export async function askFilter(
  source: Pick<ChainSource, 'call'>,
  price: ContractPrice,
  pair: PricePair,
): Promise<LogFilter> {
  const { address, emitters } = price
  const addresses = (await emitters?.ask(askView(source, address, `the price at ${address}`))) ?? [
    address,
  ]
  return { addresses, topics: [listTopics(price), ...(price.topics?.(pair) ?? [])] }
}

export function askView(
  source: Pick<ChainSource, 'call'>,
  address: Address,
  field: string,
): AskView {
  return (view, args, at = address) => callView(source, { field, address: at, view, args })
}

export function nameOfEvents({ events }: Pick<ContractPrice, 'events'>): string {
  return events.map(nameOf).join(' or ')
}

function nameOf({ name, inputs }: AbiEvent): string {
  return `${name}(${inputs.map(({ type }) => type).join(',')})`
}

/** Undefined for logs of other events; throws DecodeError. */
export function compilePriceDecoder({ events }: Pick<ContractPrice, 'events'>) {
  const decoders = events.map((event) => ({
    event,
    topic0: getSelector(event),
    decode: compileWordDecoder(event),
  }))
  return (log: Pick<Log, 'topics' | 'data'>): EventArguments | undefined => {
    const decoder = decoders.find(({ topic0 }) => topic0 === log.topics[0])
    if (decoder === undefined) return undefined
    const args = decoder.decode?.(log)
    if (args !== undefined) return args
    throw new DecodeError(`it is not ${nameOf(decoder.event)} with the same "indexed"`)
  }
}
