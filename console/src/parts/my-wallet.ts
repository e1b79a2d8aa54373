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
  return readHex(text, 40)
}

export function readTransaction(text: string): string | undefined {
  return readHex(text, 64)
}

function readHex(text: string, digits: number): string | undefined {
  const hex = text.replaceAll(/[\s\u200b]/g, '')
  const isWhole = /^0x[0-9a-f]+$/i.test(hex) && hex.length === digits + 2
  return isWhole ? `0x${hex.slice(2)}` : undefined
}
