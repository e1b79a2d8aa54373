import { readFile } from 'node:fs/promises'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { ConfigError } from '#config.ts'
import { parseHash } from '#domain/address.ts'
import {
  type EmbeddedDeps,
  embeddedFacilitator,
} from '#money/x402/facilitators/embedded-facilitator.ts'
import type { Facilitator } from '#money/x402/facilitators/facilitator.ts'
import { httpFacilitator } from '#money/x402/facilitators/http-facilitator.ts'
import { listingOf } from './listing.ts'
import { OFFERS } from './offered-amounts.ts'
import { type SettlingFacts, settlingOf } from './settling.ts'

type Deps = SettlingFacts &
  Pick<EmbeddedDeps, 'engine' | 'clock' | 'rpc' | 'payment' | 'report'> & {
    readonly ecosystem: Pick<Ecosystem, 'service' | 'pricePerCall'>
  }

/** Opens what settles, in the leader's process. Throws ConfigError without a private key. */
export async function openFacilitator(deps: Deps): Promise<Facilitator> {
  const settling = settlingOf(deps)
  if (settling === undefined) throw new Error('a job of settlements, but nothing settles them')
  if (settling.kind === 'facilitator') {
    const { accepts: _, ...listing } = listingOf(deps.ecosystem, deps)
    return httpFacilitator({ ...deps, ...settling, listing })
  }
  return embeddedFacilitator({
    ...deps,
    privateKey: await readKey(settling.keyFile),
    gasPerDayGwei: BigInt(settling.gasPerDayGwei),
    etherUsd: settling.etherUsd,
    amounts: OFFERS,
  })
}

async function readKey(file: string): Promise<`0x${string}`> {
  const name = 'SEXTON_SETTLING_KEY_FILE'
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`${name}: the file cannot be read`, { cause })
  })
  const privateKey = parseHash(text.trim())
  if (privateKey === undefined)
    throw new ConfigError(`${name}: the file must contain a private key, 0x and 64 hex digits`)
  return privateKey
}
