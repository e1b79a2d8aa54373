import { useEffect, useRef, useState } from 'preact/hooks'
import { getPrepayment, type Prepayment, type Pricing, SextonError } from 'sexton-client'
import { keyless } from '../state/session.ts'
import { type FoundTransfer, recentTransfers } from './erc20.ts'
import { chainIdOf, type Wallet } from './wallet.ts'

const LOOK_MS = 10_000
const OPEN: readonly Prepayment['status'][] = ['pending', 'confirming', 'verified', 'reversed']

export interface Found {
  /** Newest first. */
  readonly transfers: readonly FoundTransfer[]
  look(): Promise<readonly FoundTransfer[]>
  ignore(txHash: string): void
}

/**
 * Transfers of the wallet that no key of its own has claimed: the page was closed in the middle of a
 * payment, the wallet lost its answer, or the transaction was replaced by a faster one.
 */
export function useFound(input: {
  readonly wallet: Wallet
  readonly pricing: Pricing
  readonly chainId: number
  readonly ownKeys: readonly string[]
}): Found {
  const { wallet, pricing, chainId, ownKeys } = input
  const [transfers, setTransfers] = useState<readonly FoundTransfer[]>([])
  const done = useRef(new Set<string>())
  const look = async () => {
    if ((await chainIdOf(wallet)) !== chainId) return []
    const { asset, payTo: to } = pricing
    const open: FoundTransfer[] = []
    for (const transfer of await recentTransfers(wallet, { asset, to })) {
      const { txHash } = transfer
      if (done.current.has(txHash)) continue
      const record = await recordOf(txHash)
      if (record?.verified === true) done.current.add(txHash)
      else if (!isOwn(record, ownKeys)) open.push(transfer)
    }
    setTransfers(open)
    return open
  }
  useEffect(() => {
    // A wallet's node may refuse to search; the payment works without.
    const tick = () => void (document.hidden || look().catch(() => undefined))
    tick()
    const timer = setInterval(tick, LOOK_MS)
    return () => clearInterval(timer)
  }, [wallet.address, ownKeys.join()])
  return {
    transfers,
    look,
    ignore(txHash) {
      done.current.add(txHash)
      setTransfers((known) => known.filter((each) => each.txHash !== txHash))
    },
  }
}

/** Anyone may claim any transaction; a stranger's claim is none of the owner's. */
function isOwn(record: Prepayment | undefined, ownKeys: readonly string[]): boolean {
  return (
    record !== undefined && ownKeys.includes(record.apiKeyPublicId) && OPEN.includes(record.status)
  )
}

async function recordOf(idOrTxHash: string): Promise<Prepayment | undefined> {
  try {
    return (await getPrepayment(keyless, { idOrTxHash })).data
  } catch (error) {
    if (error instanceof SextonError && error.code === 'prepayment_not_found') return undefined
    throw error
  }
}
