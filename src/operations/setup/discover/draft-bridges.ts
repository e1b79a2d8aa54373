import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { nameOfTopic } from '#chains/indexer/name-of-topic.ts'
import { showAddress } from '#domain/address.ts'
import type { FoundBridge } from './bridges.ts'
import type { Question } from './draft-burns.ts'
import type { Findings } from './inspect-chain.ts'
import type { KnownBridgeEvent } from './known-bridges.ts'

type BridgeEntry = NonNullable<EcosystemFile['tokens'][number]['bridges']>[number]

export interface DraftedBridges {
  readonly entries: readonly BridgeEntry[]
  /** Listed by index of the entry. */
  readonly notes: readonly string[]
  readonly questions: readonly Question[]
}

/** Known bridges become entries; an unknown event may be that of a contract that burns for good. */
export function draftBridges(found: readonly Findings[]): DraftedBridges {
  const all = found.flatMap(({ entry: { name: chain }, token, bridges }) =>
    bridges.map((bridge) => ({ chain, token, bridge })),
  )
  const known = all.flatMap(({ chain, token, bridge }) => {
    const { address, known: event } = bridge
    if (event === undefined) return []
    const { text, amount } = event
    const where = ofToken(event, showAddress(token.address))
    const entry = { chain, address: showAddress(address), event: text, amount, ...where }
    return [{ entry, note: `stands beside ${describe(bridge)}: check that it is a bridge` }]
  })
  const questions = all.flatMap(({ chain, bridge }): readonly Question[] => {
    const { address, topic0, known: event } = bridge
    if (event !== undefined) return []
    const place = { chain, address: showAddress(address) }
    const text = `${showAddress(address)} emits ${nameOfTopic(topic0)} beside ${describe(bridge)}. If it is a bridge, they are moves between chains: add this entry with the event as its source code has it. If not, ignore this.`
    return [{ path: 'tokens[0].bridges', text, entry: { ...place, event: 'event …', amount: '…' } }]
  })
  return {
    entries: known.map(({ entry }) => entry),
    notes: known.map(({ note }) => note),
    questions,
  }
}

/** Names of the argument that is the token, in events of bridges that move any. */
const TOKEN_ARGUMENTS = new Set(['localToken', 'token', 'burnToken', 'mintToken'])

/** Checks the token too: otherwise a move of any other token would hide a burn of the same amount. */
function ofToken({ event }: KnownBridgeEvent, token: string): Pick<BridgeEntry, 'where'> {
  const named = event.inputs.find(({ name = '' }) => TOKEN_ARGUMENTS.has(name))?.name
  return named === undefined ? {} : { where: { [named]: token } }
}

function describe({ kind, beside, of, from, until }: FoundBridge): string {
  return `${beside} of the ${of} ${kind}s in its transactions, with their amount (blocks ${from} to ${until})`
}
