import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Emitters } from '#chains/ecosystem/priced-token.ts'
import type { Address } from '#domain/address.ts'
import { askOf } from '../price-logs.ts'

export interface AgreedEmitters {
  readonly addresses: readonly Address[]
  /** Nodes that name others, or none. */
  readonly doubts: readonly Doubt[]
}

interface Doubt {
  readonly host: string
  readonly reason: string
  /** From what others settled; without that, any node may be right. */
  readonly differs: boolean
}

/** Contracts count once two nodes name them, or the only one: logs prove that they are real, but not whose they are. */
export async function agreeOnEmitters(
  source: Pick<ChainSource, 'each'>,
  emitters: Emitters,
  known: readonly Address[] = [],
): Promise<AgreedEmitters> {
  const answers = await Promise.all(
    source
      .each()
      .map(async ({ host, source: one }) => ({ host, ...(await nameBy(one, emitters)) })),
  )
  const needed = Math.min(2, answers.length)
  const votes = Map.groupBy(
    answers.flatMap(({ named }) => named),
    (address) => address,
  )
  const addresses = [...votes].flatMap(([each, { length }]) => (length >= needed ? [each] : []))
  const settled = [...addresses, ...known]
  const doubts = answers.flatMap(({ host, named, failure }) => {
    if (failure !== undefined) return [{ host, reason: failure, differs: false }]
    const alone = named.filter((each) => !settled.includes(each))
    const missing = addresses.filter((each) => !named.includes(each))
    // When only two nodes answer and differ about a new aggregator, either may be right.
    const isOutvoted = alone.length > 0 && answers.length > 2
    const reasons = [
      ...alone.map((each) => `only it names ${each} behind the price at ${emitters.address}`),
      ...missing.map((each) => `it does not name ${each} behind the price at ${emitters.address}`),
    ]
    return reasons.length === 0
      ? []
      : [
          {
            host,
            reason: reasons.join(', '),
            differs: settled.length > 0 && (isOutvoted || missing.length > 0),
          },
        ]
  })
  return { addresses, doubts }
}

async function nameBy(source: ChainSource, { address, ask }: Emitters) {
  try {
    return { named: await ask(askOf(source, address, `the price at ${address}`)) }
  } catch (error) {
    return { named: [], failure: error instanceof Error ? error.message : String(error) }
  }
}

export function describeDoubts({ doubts }: Pick<AgreedEmitters, 'doubts'>): string {
  return doubts.map(({ host, reason }) => `${host}: ${reason}`).join('; ')
}
