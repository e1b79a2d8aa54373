import { useState } from 'preact/hooks'
import { keep, kept } from './kept.ts'

const NAME = 'sexton-my-wallet'

/** The wallet that the person calls theirs; it never leaves this browser. */
export function myWallet(): string | undefined {
  return kept(NAME)
}

export function useMyWallet() {
  const [mine, setMine] = useState(myWallet)
  const call = (address: string | undefined) => {
    keep(NAME, address)
    setMine(address)
  }
  return [mine, call] as const
}

/** An address as people paste it: with spaces, in any case. */
export function readAddress(text: string): string | undefined {
  const address = text.replaceAll(/[\s\u200b]/g, '')
  return /^0x[0-9a-f]{40}$/i.test(address) ? `0x${address.slice(2)}` : undefined
}
