import { getSelector } from 'ox/AbiEvent'
import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import type { ChainSource, LogFilter } from '#chain/chain-source.ts'
import { DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import { priceKinds } from '#ecosystem/price-kinds.ts'
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

export function nameOfEvents(price: Pick<ContractPrice, 'events'>): string {
  return listTopics(price).map(nameOfTopic).join(' or ')
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

const names: ReadonlyMap<string, string> = new Map(
  priceKinds
    .flatMap(({ events }) => events)
    .map((event) => [
      getSelector(event),
      `${event.name}(${event.inputs.map(({ type }) => type).join(',')})`,
    ]),
)

function nameOfTopic(topic0: string): string {
  return names.get(topic0) ?? topic0
}
