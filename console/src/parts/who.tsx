import { useContext } from 'preact/hooks'
import { texts } from '../texts.ts'
import { FileContext } from './file-context.ts'
import { shortAddress } from './format.ts'
import { myWallet } from './my-wallet.ts'

/** A wallet with a way to its page, by its label in the file; the person's own has a black tag. */
export function Who({ address }: { readonly address: string }) {
  const label = useContext(FileContext).labels[address]
  const isMine = myWallet()?.toLowerCase() === address.toLowerCase()
  const name = label ?? shortAddress(address)
  return (
    <a
      class={isMine ? 'mine' : label === undefined ? 'code' : ''}
      href={`/wallet/${address}`}
      title={address}
      translate={false}
    >
      {isMine ? texts.search.mine : name}
    </a>
  )
}
