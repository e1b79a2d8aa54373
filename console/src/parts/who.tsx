import { texts } from '../texts.ts'
import { shortAddress } from './format.ts'
import { myWallet } from './my-wallet.ts'

/** A wallet with a way to its page; the person's own has a black tag. */
export function Who({ address }: { readonly address: string }) {
  const isMine = myWallet()?.toLowerCase() === address.toLowerCase()
  return (
    <a class={isMine ? 'mine' : 'code'} href={`/wallet/${address}`} title={address}>
      {isMine ? texts.search.mine : shortAddress(address)}
    </a>
  )
}
