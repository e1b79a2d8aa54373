import type { Ecosystem, PricedToken } from '#chains/ecosystem/ecosystem.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import type { UnknownFigure } from '#chains/indexer/unknown-figures.ts'
import { HOLDERS } from './dataset-names.ts'

/** An unknown figure by the names of the file. */
export interface NamedUnknown extends Pick<UnknownFigure, 'dataset' | 'reason' | 'detail'> {
  readonly chain: string
  readonly chainId: number
  /** Null if the contract is not a token of the file. */
  readonly token: string | null
}

export function nameUnknown(
  status: Pick<IndexStatus, 'unknown' | 'chains'>,
  tokens: Ecosystem['tokens'],
): readonly NamedUnknown[] {
  return status.unknown.flatMap(({ chainId, contract, dataset, reason, detail }) => {
    const chain = status.chains.find((each) => each.chain.id === chainId)?.chain
    if (chain === undefined) return []
    const token = tokens.find(({ addresses }) => addresses.get(chain.name) === contract)
    return [{ chain: chain.name, chainId, token: token?.symbol ?? null, dataset, reason, detail }]
  })
}

type Known = Pick<IndexStatus, 'unknown' | 'chains'>

/** Whether supply and holders of a token are known, on every chain or on one. */
export function areHoldersKnown(status: Known, token: PricedToken, chainId?: number): boolean {
  return unknownOf(status, token).every((each) => (chainId ?? each.chainId) !== each.chainId)
}

/** Otherwise nothing that follows from its transfers is known. */
export function areTransfersReadable(status: Known, token: PricedToken): boolean {
  return unknownOf(status, token).every(({ reason }) => reason !== 'unreadable')
}

function unknownOf({ unknown, chains }: Known, { addresses }: PricedToken) {
  return unknown.filter(({ dataset, chainId, contract }) => {
    const chain = chains.find((each) => each.chain.id === chainId)?.chain
    return dataset === HOLDERS && chain !== undefined && addresses.get(chain.name) === contract
  })
}
