import { useState } from 'preact/hooks'
import { getUsage, type ListedApiKey } from 'sexton-client'
import { isInUse, sexton, takeSecret } from '../state/session.ts'
import type { Minted } from './mint.tsx'

/** A key whose balance is unknown after a credit, until the wallet signs for the list again. */
export type OwnKey = Omit<ListedApiKey, 'prepaidBalanceUsd'> & {
  readonly prepaidBalanceUsd: number | undefined
}

/** The keys of one wallet; not all of them until the wallet has signed for the list. */
export interface KnownKeys {
  readonly isWhole: boolean
  readonly keys: readonly OwnKey[]
}

type KeysByWallet = ReadonlyMap<string, KnownKeys>

/**
 * What the page knows, by owner: an answer may arrive after another wallet was connected. `turn` changes
 * when usage may have changed.
 */
export function useKeys() {
  const [known, setKnown] = useState<KeysByWallet>(new Map())
  const [minted, setMinted] = useState<Minted>()
  const [turn, setTurn] = useState(0)
  const list = (owner: string, keys: readonly ListedApiKey[]) =>
    setKnown((all) => new Map([...all, [owner.toLowerCase(), { isWhole: true, keys }]]))
  const change = (key: OwnKey) => {
    if (key.status === 'revoked' && isInUse(key.publicId)) takeSecret(undefined)
    setKnown((all) => replaceKey(all, key))
  }
  const use = (secret: string) => {
    takeSecret(secret)
    setTurn((value) => value + 1)
  }
  const show = (next: Minted) => {
    setMinted(next)
    change({ prepaidBalanceUsd: 0, ...next.key })
    use(next.secret)
  }
  // Asked for and not added up: the list may have been read after the credit.
  const credit = async (publicId: string) => {
    setTurn((value) => value + 1)
    const prepaidBalanceUsd = isInUse(publicId)
      ? (await getUsage(sexton())).data.prepaidBalanceUsd
      : undefined
    setKnown((all) => withBalance(all, publicId, prepaidBalanceUsd))
  }
  const hide = () => setMinted(undefined)
  return { known, minted, turn, hide, list, change, show, credit, use }
}

/** Newest first. */
function replaceKey(all: KeysByWallet, key: OwnKey): KeysByWallet {
  const owner = key.ownerAddress.toLowerCase()
  const { isWhole, keys } = all.get(owner) ?? { isWhole: false, keys: [] }
  const isKnown = keys.some(({ publicId }) => publicId === key.publicId)
  const next = isKnown
    ? keys.map((each) => (each.publicId === key.publicId ? key : each))
    : [key, ...keys]
  return new Map([...all, [owner, { isWhole, keys: next }]])
}

function withBalance(
  all: KeysByWallet,
  publicId: string,
  prepaidBalanceUsd: number | undefined,
): KeysByWallet {
  const key = [...all.values()]
    .flatMap(({ keys }) => keys)
    .find((each) => each.publicId === publicId)
  return key === undefined ? all : replaceKey(all, { ...key, prepaidBalanceUsd })
}
